import { goldensOf } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import {
  buildMemoryProfile,
  type CompiledNodeRecord,
  getFwdBwdInteractions,
  holdCompiledStep,
  NodeKind,
  peakOfProfile,
} from "../../src/graph/index.js";
import { readFxGraph } from "./compare-fx-golden.js";

const kinds = { placeholder: "placeholder", get_attr: "attribute", output: "output" } as const;
const deviceFilter = (): boolean => true;

describe.each(goldensOf("fx-memory-oracle/1").map(({ file, golden }) => [file.name, golden] as const))(
  "a step through one forward and one backward graph of %s",
  (_name, golden) => {
    it.each(["default", "min_cut"])("holds what torch's estimator says, and weights all the time: %s", (partition) => {
      const pair = golden["graphs"][partition];
      const recordsOf = ({ nodes }: { nodes: any[] }): CompiledNodeRecord[] =>
        nodes.map(({ n, op, in: inputs, out = [] }) => ({
          ...{ name: n, inputs, outputs: out.map(({ k }: { k: number }) => k) },
          kind: kinds[op as keyof typeof kinds] ?? "compute",
        }));
      const storages = golden["storages"].map(([bytes, device]: [number, string]) => ({ bytes, device }));
      const { peakBytes } = holdCompiledStep({
        storages,
        graphs: [{ forward: recordsOf(pair.forward), backward: recordsOf(pair.backward) }],
      });

      const [forward, backward] = [readFxGraph(golden, pair.forward), readFxGraph(golden, pair.backward)];
      const { backwardBaselineBytes, doNotDelete } = getFwdBwdInteractions(forward, backward, { deviceFilter });
      const kept = new Set(doNotDelete);
      const isReleasable = (node: number): boolean => backward.held[node] === 0 && !kept.has(node);
      const taken = new Set<number>();
      for (let n = 0; n < backward.nodeCount; n++)
        if (backward.kinds[n] === NodeKind.placeholder)
          for (let i = backward.outputs.start[n]; i < backward.outputs.start[n + 1]; i++)
            taken.add(backward.outputs.values[i]);
      const handed = new Set<number>();
      const last = forward.nodeCount - 1;
      for (let i = forward.reads.start[last]; i < forward.reads.start[last + 1]; i++)
        handed.add(forward.reads.values[i]);
      let unreadBytes = 0;
      const counted = new Set<number>();
      for (let n = 0; n < forward.nodeCount; n++)
        if (forward.kinds[n] !== NodeKind.compute && forward.kinds[n] !== NodeKind.output)
          for (let i = forward.outputs.start[n]; i < forward.outputs.start[n + 1]; i++) {
            const storage = forward.outputs.values[i];
            if (taken.has(storage) || handed.has(storage) || counted.has(storage)) continue;
            counted.add(storage);
            unreadBytes += storages[storage].bytes;
          }
      expect(peakBytes).toBe(
        Math.max(
          peakOfProfile(buildMemoryProfile(forward, { deviceFilter })),
          backwardBaselineBytes +
            unreadBytes +
            peakOfProfile(buildMemoryProfile(backward, { deviceFilter, isReleasable })),
        ),
      );
    });
  },
);

describe("a step through several graphs", () => {
  const node = (name: string, inputs: string[], outputs: number[]): CompiledNodeRecord => ({
    ...{ name, inputs, outputs },
    kind: name.startsWith("output") ? "output" : inputs.length === 0 ? "placeholder" : "compute",
  });
  const storages = Array.from({ length: 8 }, (_, s) => ({ bytes: 2 ** s, device: "cuda:0" }));
  const first = {
    forward: [
      node("primals_1", [], [0]),
      node("a", ["primals_1"], [1]),
      node("b", ["a"], [2]),
      node("output", ["b"], []),
    ],
    backward: undefined,
  };
  const second = {
    forward: [node("primals_1", [], [2]), node("c", ["primals_1"], [3]), node("output", ["c"], [])],
    backward: undefined,
  };

  it("holds what one hands to the next until that has read it", () => {
    // 1 given; 4 goes with the last reader, unless the model returns it.
    const held = holdCompiledStep({ storages, graphs: [first, second], results: [3] });
    expect(held).toMatchObject({ peakBytes: 1 + 4 + 8, inputBytes: 1, savedBytes: 0 });
    expect(held.peakAt).toEqual({ graph: 1, pass: "forward", node: "c" });
  });

  it("has a gradient that is added to another go with its graph", () => {
    const passes = [6, 5].map((gradient) => ({
      forward: [node("primals_1", [], [0]), node("output", ["primals_1"], [])],
      backward: [
        ...[node("primals_1", [], [0]), node("a", ["primals_1"], [gradient])],
        ...[node("b", ["a"], [4]), node("output", ["a"], [])],
      ],
    }));
    const bytes = (added?: number[]): number => holdCompiledStep({ storages, graphs: passes, added }).peakBytes;
    expect(bytes()).toBe(1 + 32 + 64 + 16);
    expect(bytes([6])).toBe(1 + 32 + 64 + 16);
    expect(bytes([5])).toBe(1 + 64 + 16);
  });

  it("has what is recomputed in the backward pass live twice, not in between", () => {
    const forward = [
      ...[node("primals_1", [], [0]), node("a", ["primals_1"], [6]), node("b", ["a"], [5]), node("c", ["b"], [1])],
      node("output", ["c", "primals_1"], []),
    ];
    const backward = [
      ...[node("primals_1", [], [0]), node("tangents_1", [], [2]), node("a", ["primals_1"], [6])],
      ...[node("d", ["a", "tangents_1"], [3]), node("output", ["d"], [])],
    ];
    const held = holdCompiledStep({ storages, graphs: [{ forward, backward }] });
    expect(held).toMatchObject({ peakBytes: 1 + 64 + 32, savedBytes: 0 });
  });
});
