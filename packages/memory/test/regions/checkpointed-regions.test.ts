import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { checkpointedRegions } from "@remat/memory/regions";
import { readPyTorchTrace } from "@remat/pytorch";
import { parseTrace, type Trace, TraceBuilder, writeTrace } from "@remat/trace";
import { describe, expect, test } from "vitest";

interface Case {
  readonly name: string;
  readonly file: unknown;
  /** For each region, in the order of their first runs: bytes it made that PyTorch keeps after it returns. */
  readonly held: readonly number[];
}

const fixture = new URL("../fixtures/checkpointed-regions.json.gz", import.meta.url);
const { cases } = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as { cases: readonly Case[] };
const traceOf = (name: string): Trace => readPyTorchTrace(cases.find((one) => one.name === name)?.file);

const rows = 8;
const dim = 16;
const wide = 64;
const result = rows * dim * 4;
const hidden = rows * wide * 4;

/** Memory that each region keeps beyond results and its policy's saves, as `cause bytes op`, and its flaws. */
function beyond(trace: Trace): readonly (readonly string[])[] {
  return checkpointedRegions(trace).map(({ kept, flaws }) => [
    ...kept
      .filter(({ cause }) => cause !== "result" && cause !== "policy")
      .map(({ cause, bytes, maker, saver }) =>
        [
          cause,
          bytes,
          maker === undefined ? "" : trace.opName(maker),
          ...(saver?.op === undefined ? [] : ["by", trace.opName(saver.op)]),
        ].join(" "),
      ),
    ...flaws.map(({ flaw, bytes }) => `${flaw} ${bytes}`),
  ]);
}

describe.each(cases)("$name", ({ name, held }) => {
  const trace = traceOf(name);

  test("holds when a region is over what PyTorch holds, and every byte has a reason", () => {
    const regions = checkpointedRegions(trace);
    expect(regions.map(({ heldBytes }) => heldBytes)).toEqual(held);
    for (const { kept, heldBytes } of regions) expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(heldBytes);
  });

  test("is the same when it was written and read", () => {
    const copy = parseTrace(Buffer.concat([...writeTrace(trace)]));
    expect(checkpointedRegions(copy)).toEqual(checkpointedRegions(trace));
    expect(copy.scopes).toEqual(trace.scopes);
  });
});

test.each<[name: string, expected: readonly (readonly string[])[]]>([
  ["clean", [[], []]],
  ["nested", [[], [], []]],
  ["policy", [[], []]],
  ["reentrant", [[`reentrant ${result}`], [`reentrant ${result}`]]],
  [
    "saved_outside",
    [
      [`savedOutside ${hidden} aten.tanh.default by aten.pow.Tensor_Scalar`],
      [`savedOutside ${hidden} aten.tanh.default by aten.cos.default`],
    ],
  ],
  ["attribute", [[`program ${hidden} aten.tanh.default`], [`program ${hidden} aten.tanh.default`]]],
  ["in_list", [[`program ${hidden} aten.tanh.default`], [`program ${hidden} aten.tanh.default`]]],
  ["hook", [[], [`program ${hidden} aten.addmm.default`]]],
  ["view_returned", [[`viewReturned ${hidden - result} aten.tanh.default`]]],
  ["view_given", [[`viewGiven ${hidden - result}`]]],
  ["never_recomputed", [[`neverRecomputed ${result}`]]],
])("%s is told with its reason, and nothing else is", (name, expected) => {
  expect(beyond(traceOf(name))).toEqual(expected);
});

test.each([
  ["the module whose call is all of it", [0], "net.block"],
  ["the module around it, where it is the forward pass of that", [0, 1], "net"],
])("a region is named after %s", (_, inside, expected) => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const net = b.call(b.module({ fqn: "net", kind: "Net", leaf: false }), -1, true);
  const blocks = ["net.block", "net.other"].map((fqn) =>
    b.call(b.module({ fqn, kind: "Block", leaf: true }), net, true),
  );
  b.enterModule(net);
  const scope = b.scope("forward", -1, { checkpoint: "nonReentrant" });
  b.enterScope(scope, []);
  for (const block of inside) {
    b.enterModule(blocks[block]);
    b.op({ name: "aten.relu.default", stack: b.stackOfCall(blocks[block]) });
    b.exitModule(blocks[block]);
  }
  b.exitScope(scope, []);
  b.exitModule(net);
  expect(checkpointedRegions(b.build()).map(({ module }) => module)).toEqual([expected]);
});

test("tensors saved by a policy are reported as such", () => {
  for (const { kept } of checkpointedRegions(traceOf("policy")))
    expect(kept.map(({ cause, bytes }) => [cause, bytes])).toEqual([
      ["policy", hidden],
      ["result", result],
    ]);
});

test("ops and regions have the lines of the program that they come from", () => {
  const trace = traceOf("in_list");
  const [{ scope, module, kept }] = checkpointedRegions(trace);
  expect(module).toBe("Model.blocks.0");
  expect(trace.scopes[scope]).toMatchObject({ name: "Listing", checkpoint: "nonReentrant" });
  const source = new URL("../../../../tooling/pytorch-exporter/test/region_cases.py", import.meta.url);
  const program = readFileSync(source, "utf8").split("\n");
  const textOf = (line = ""): string => program[Number(line.split(":").at(-1)) - 1].trim();
  expect(textOf(trace.scopes[scope].line)).toBe(
    "self.around = lambda block, x: checkpoint(block, x, use_reentrant=False)",
  );
  const listed = kept.find(({ cause }) => cause === "program");
  expect(textOf(trace.opLine(listed?.maker ?? -1))).toBe("return torch.tanh(self.up(x))");
});
