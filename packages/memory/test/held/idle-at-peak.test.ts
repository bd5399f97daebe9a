import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { heldPeak, idleAtPeak, momentOfPeak, readMemoryEvents, storagesAtPeak, storageUses } from "../../src/index.js";
import { StepFacts } from "../../src/sequence/index.js";

const goldens = ["mem_02_transformer_adam", "mem_04_cnn_adam", "mem_05_reuse_adam", "fsdp_tf_ws4_reshard1"];

function goldenTrace(name: string): Trace {
  const file = goldenFiles().find((golden) => golden.name === name);
  if (file === undefined) throw new Error(`no golden file ${name}`);
  return readPyTorchTrace(readGolden(file));
}

/** Returns whether any of an op's tensors uses a storage. */
function uses(trace: Trace, op: number, storage: number): boolean {
  return [trace.opInputs(op), trace.opOutputs(op)].some((tensors) =>
    Array.from(tensors).some((tensor) => trace.tensorStorages(tensor).includes(storage)),
  );
}

describe.each(goldens)("in %s", (name) => {
  const trace = goldenTrace(name);
  const peak = heldPeak(trace);
  const held = storagesAtPeak(trace, peak);

  it("lists every storage that the peak consists of, as allocated", () => {
    expect(held.totalBytes).toBe(peak.peakBytes);
    expect(held.bytes.reduce((sum, bytes) => sum + bytes, 0)).toBe(peak.peakBytes);
    expect(held.bytesByCategory).toEqual(peak.bytesByCategory);
    const moment = momentOfPeak(trace, peak, { limit: held.count });
    expect(moment.storageCount).toBe(held.count);
    const scratch = held.isScratch.reduce((sum, is) => sum + is, 0);
    expect(moment.largest).toHaveLength(held.count - Math.max(0, scratch - 1));
    for (const { storage, maker } of moment.largest)
      expect(held.maker[held.storage.indexOf(storage)]).toBe(maker?.op ?? -1);
  });

  it("counts for nothing what no op from the peak on uses, of what is freed", () => {
    const freed = new Set<number>();
    readMemoryEvents(trace, { free: (storage) => void freed.add(storage) });
    let bytes = 0;
    let storageCount = 0;
    for (let i = 0; i < held.count; i++) {
      const storage = held.storage[i];
      const isUsed = (from: number, to: number): boolean => {
        for (let op = from; op < to; op++) if (uses(trace, op, storage)) return true;
        return false;
      };
      if (!freed.has(storage) || isUsed(held.op, trace.ops.count) || !isUsed(0, held.op)) continue;
      bytes += held.bytes[i];
      storageCount++;
    }
    const idle = idleAtPeak(trace, held);
    expect(idle).toMatchObject({ bytes, storageCount });
    expect(Object.values(idle.bytesByCategory).reduce((sum, part) => sum + part, 0)).toBe(bytes);
  });
});

it("tells of each storage the last op that uses it, and the op before which it is freed", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const make = (elements: number) => {
    const storage = b.allocate(4 * elements, "cpu", Category.temporary);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  const weight = make(3);
  const unused = make(1);
  const first = make(10);
  b.op({ name: "MatMul", inputs: [weight.tensor], outputs: [first.tensor] });
  const second = make(10);
  b.op({ name: "Relu", inputs: [first.tensor], outputs: [second.tensor] });
  const third = make(20);
  b.op({ name: "Concat", phase: Phase.backward, inputs: [second.tensor], outputs: [third.tensor] });
  b.free(first.storage);
  const last = make(1);
  b.op({ name: "Sum", phase: Phase.backward, inputs: [third.tensor], outputs: [last.tensor] });
  b.free(second.storage);
  b.free(third.storage);
  const trace = b.build();
  const { lastOp, freedBefore } = storageUses(trace);
  const of = ({ storage }: { storage: number }) => [lastOp[storage], freedBefore[storage]];
  expect([weight, unused, first, second, third, last].map(of)).toEqual([
    [0, -1],
    [-1, -1],
    [1, 3],
    [2, 4],
    [3, 4],
    [3, -1],
  ]);
  // The peak is when Concat is over: what Relu has read is there for nothing.
  expect(heldPeak(trace)).toMatchObject({ op: 2, peakBytes: 4 * (3 + 1 + 10 + 10 + 20) });
  expect(new StepFacts(trace).idle).toEqual({ bytes: 40, bytesByCategory: { temporary: 40 }, storageCount: 1 });
});
