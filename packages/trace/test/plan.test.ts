import { expect, test } from "vitest";
import {
  describePlanMismatch,
  findPlanMismatch,
  fingerprintOf,
  fingerprintOfOps,
  formatOccurrence,
  offloads,
  opOccurrences,
  Phase,
  type Plan,
  type PlanNode,
  readPlan,
  type Trace,
  TraceBuilder,
  writePlan,
} from "../src/index.js";
import { offloadingPlanFormat } from "../src/plan.js";

/** A block called twice, forward and backward. */
function trace(width: number): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensor = () => b.tensor({ storage: b.allocate(4 * width, "cpu"), dtype: "float32", shape: [2, width] });
  const block = b.module({ fqn: "net.block", kind: "Dense", leaf: true });
  const stacks = [0, 1].map(() => b.stackOfCall(b.call(block, -1, true)));
  let x = tensor();
  for (const stack of stacks)
    for (const name of ["Relu", "Tanh", "Relu"]) {
      const y = tensor();
      b.op({ name, stack, inputs: [x], outputs: [y] });
      x = y;
    }
  b.op({ name: "Step", phase: Phase.backward, stack: stacks[1], inputs: [x], outputs: [tensor()] });
  b.op({ name: "Sum", inputs: [x], outputs: [tensor()] });
  return b.build();
}

test("ops are named by module call, phase, kernel and ordinal", () => {
  expect(opOccurrences(trace(8))[6]).toEqual({
    module: "net.block",
    call: 1,
    phase: "backward",
    kernel: "Step",
    ordinal: 0,
    outputs: [{ dtype: "float32", shape: [2, 8] }],
  });
  expect(opOccurrences(trace(8)).map(formatOccurrence)).toEqual([
    "net.block[0] forward Relu 0: float32[2,8]",
    "net.block[0] forward Tanh 0: float32[2,8]",
    "net.block[0] forward Relu 1: float32[2,8]",
    "net.block[1] forward Relu 0: float32[2,8]",
    "net.block[1] forward Tanh 0: float32[2,8]",
    "net.block[1] forward Relu 1: float32[2,8]",
    "net.block[1] backward Step 0: float32[2,8]",
    "(outside modules) forward Sum 0: float32[2,8]",
  ]);
});

test("fingerprints tell lines apart, and where they break", () => {
  const prints = [["ab", "c"], ["a", "bc"], ["abc"], ["ab", "d"], [], ["ab", "c", ""]].map(fingerprintOf);
  expect(new Set(prints).size).toBe(prints.length);
  for (const print of prints) expect(print).toMatch(/^[0-9a-f]{16}$/);
  expect(fingerprintOf(["ab", "c"])).toBe(prints[0]);
});

function plan(): Plan {
  const ops = opOccurrences(trace(8));
  return {
    subject: {
      kind: "trace",
      name: "net",
      framework: "tfjs",
      device: "cpu",
      allocationUnitBytes: 1,
      step: { size: "full", batch: 8, loss: "sum", data: "/batch.json", optimizer: "adam", grouping: "auto", seed: 3 },
      fingerprint: fingerprintOfOps(ops),
    },
    origin: { method: "annealing", budgetBytes: 100, order: "fixed", seed: 1, iterations: 10 },
    predicted: { peakBytes: 96, cost: 9, overhead: 0.125, lowerBound: 9, gap: 0, plain: { peakBytes: 128, cost: 8 } },
    ops,
    sources: [{ before: 2, ordinal: 0, bytes: 8 }],
    steps: [
      { op: 0, isRecomputed: false, free: [] },
      { op: 1, isRecomputed: false, free: [{ op: 0, output: 0 }] },
      { op: 2, isRecomputed: false, free: [{ source: 0 }, { op: 1, output: 0 }] },
      { op: 0, isRecomputed: true, free: [] },
      ...[3, 4, 5, 6, 7].map((op) => ({ op, isRecomputed: false, free: [] })),
    ],
  };
}

test("a plan is read as it was written, one op and one step a line", () => {
  const text = writePlan(plan());
  expect(readPlan(text)).toEqual(plan());
  expect(readPlan(JSON.parse(text))).toEqual(plan());
  expect(text.split("\n").filter((line) => /"(run|recompute)"/.test(line))).toEqual([
    '    {"run":0},',
    '    {"run":1,"free":["0:0"]},',
    '    {"run":2,"free":["s0","1:0"]},',
    '    {"recompute":0},',
    '    {"run":3},',
    '    {"run":4},',
    '    {"run":5},',
    '    {"run":6},',
    '    {"run":7}',
  ]);
  expect(text.split("\n").filter((line) => /"kernel"/.test(line))).toEqual([
    '    {"module":"net.block","phase":"forward","kernel":"Relu","outputs":["float32[2,8]"]},',
    '    {"module":"net.block","phase":"forward","kernel":"Tanh","outputs":["float32[2,8]"]},',
    '    {"module":"net.block","phase":"forward","kernel":"Relu","ordinal":1,"outputs":["float32[2,8]"]},',
    '    {"module":"net.block","call":1,"phase":"forward","kernel":"Relu","outputs":["float32[2,8]"]},',
    '    {"module":"net.block","call":1,"phase":"forward","kernel":"Tanh","outputs":["float32[2,8]"]},',
    '    {"module":"net.block","call":1,"phase":"forward","kernel":"Relu","ordinal":1,"outputs":["float32[2,8]"]},',
    '    {"module":"net.block","call":1,"phase":"backward","kernel":"Step","outputs":["float32[2,8]"]},',
    '    {"phase":"forward","kernel":"Sum","outputs":["float32[2,8]"]}',
  ]);
});

test("a plan fits the trace it was made for, and says where it does not fit another", () => {
  expect(findPlanMismatch(plan(), trace(8))).toBeUndefined();
  expect(findPlanMismatch(plan(), trace(9))).toEqual({
    op: 0,
    planned: plan().ops[0],
    found: { ...plan().ops[0], outputs: [{ dtype: "float32", shape: [2, 9] }] },
  });
  expect(describePlanMismatch(findPlanMismatch(plan(), trace(9))!)).toBe(
    "op 0 is planned as net.block[0] forward Relu 0: float32[2,8], found net.block[0] forward Relu 0: float32[2,9]",
  );
  expect(findPlanMismatch({ ...plan(), ops: plan().ops.slice(0, 7) }, trace(8))).toEqual({
    op: 7,
    planned: undefined,
    found: opOccurrences(trace(8))[7],
  });
});

test("a plan of a graph keeps its nodes, and fits no trace", () => {
  const node = (name: string, cost: number): PlanNode => ({ name, inputs: [0], outputBytes: [4, 0.5], cost });
  const ops = Array.from({ length: 8 }, (_, i) => node(`n${i}`, i));
  const graph: Plan = { ...plan(), subject: { kind: "graph", name: "g", fingerprint: fingerprintOfOps(ops) }, ops };
  expect(readPlan(writePlan(graph))).toEqual(graph);
  expect(describePlanMismatch(findPlanMismatch(graph, trace(8))!)).toBe(
    "op 0 is planned as n0 (0): 4,0.5 bytes, cost 0, found net.block[0] forward Relu 0: float32[2,8]",
  );
});

// biome-ignore lint/suspicious/noExplicitAny: files that are wrong
type AnyFile = any;

test.each<[string, (file: AnyFile) => void, string, string]>([
  [
    "another version",
    (f) => (f.format = "remat-plan/9"),
    "PLAN_FORMAT",
    "expected format 'remat-plan/2' or 'remat-plan/3', found \"remat-plan/9\"",
  ],
  [
    "the first version",
    (f) => (f.format = "remat-plan/1"),
    "PLAN_FORMAT",
    'found "remat-plan/1". Plan again with this version of remat.',
  ],
  [
    "an op without outputs",
    (f) => delete f.ops[2].outputs,
    "PLAN_CORRUPT",
    "ops[2].outputs: expected a list, found nothing",
  ],
  [
    "an output that is no tensor",
    (f) => (f.ops[2].outputs = ["float32[2,-8]"]),
    "PLAN_CORRUPT",
    'ops[2].outputs[0]: expected a dtype and a shape in brackets, found "float32[2,-8]"',
  ],
  [
    "an unknown phase",
    (f) => (f.ops[0].phase = "sideways"),
    "PLAN_CORRUPT",
    'ops[0].phase: expected one of forward, backward, optimizer, recompute, outside, found "sideways"',
  ],
  ["a name for an op", (f) => (f.ops[1] = "Relu"), "PLAN_CORRUPT", 'ops[1]: expected an object, found "Relu"'],
  ["no steps", (f) => delete f.steps, "PLAN_CORRUPT", "steps: expected a list, found nothing"],
  [
    "a step without an optimizer",
    (f) => delete f.subject.step.optimizer,
    "PLAN_CORRUPT",
    "subject.step.optimizer: expected text, found nothing",
  ],
  ["an unknown op", (f) => (f.steps[4].run = 99), "PLAN_CORRUPT", "steps[4]: expected an integer below 8, found 99"],
  [
    "an op that runs twice",
    (f) => (f.steps[4].run = 2),
    "PLAN_CORRUPT",
    'steps[4]: expected an op that has not run, found "op 2"',
  ],
  [
    "a second run before the first",
    (f) => (f.steps[3] = { recompute: 5 }),
    "PLAN_CORRUPT",
    'steps[3]: expected an op that has run, found "op 5"',
  ],
  [
    "another order",
    (f) => ([f.steps[4], f.steps[5]] = [f.steps[5], f.steps[4]]),
    "PLAN_CORRUPT",
    'steps[4]: expected op 3, the next in a fixed order, found "op 4"',
  ],
  [
    "an op left out",
    (f) => f.steps.pop(),
    "PLAN_CORRUPT",
    'steps: expected every op to run, found "no run of op 7 ((outside modules) forward Sum 0: float32[2,8])"',
  ],
  [
    "a value not made",
    (f) => (f.steps[0].free = ["7:0"]),
    "PLAN_CORRUPT",
    'steps[0].free: expected a computed value, found "op 7"',
  ],
  [
    "a value that is none",
    (f) => (f.steps[0].free = ["x"]),
    "PLAN_CORRUPT",
    "steps[0].free[0]: expected 'op:output' or 's' and a source, found \"x\"",
  ],
  [
    "text for a number",
    (f) => (f.predicted.peakBytes = "1 GB"),
    "PLAN_CORRUPT",
    'predicted.peakBytes: expected a number, found "1 GB"',
  ],
])("%s is refused", (_what, change, code, message) => {
  const file = JSON.parse(writePlan(plan()));
  change(file);
  expect(() => readPlan(file)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
});

test("text that is not JSON is rejected", () => {
  expect(() => readPlan("{")).toThrow(expect.objectContaining({ code: "PLAN_CORRUPT" }));
});

/** Offloads op 0's output, reloads it once for op 3 and once at the end. */
function offloading(): Plan {
  const value = { op: 0, output: 0 };
  const steps = plan().steps.filter(({ isRecomputed }) => !isRecomputed);
  steps[0] = { ...steps[0], offload: [value] };
  steps[1] = { op: 1, isRecomputed: false, free: [] };
  steps[2] = { ...steps[2], reload: [value] };
  steps[3] = { ...steps[3], free: [value] };
  steps[5] = { ...steps[5], reload: [value] };
  return { ...plan(), origin: { ...plan().origin, linkBytesPerSecond: 12e9 }, steps };
}

test("a plan that offloads is read as it was written, of a version that others refuse", () => {
  const text = writePlan(offloading());
  expect(readPlan(text)).toEqual(offloading());
  expect(JSON.parse(text).format).toBe(offloadingPlanFormat);
  expect([offloads(offloading()), offloads(plan())]).toEqual([true, false]);
  expect(text.split("\n").filter((line) => /"run"/.test(line))).toEqual([
    '    {"run":0,"offload":["0:0"]},',
    '    {"run":1},',
    '    {"run":2,"free":["s0","1:0"],"reload":["0:0"]},',
    '    {"run":3,"free":["0:0"]},',
    '    {"run":4},',
    '    {"run":5,"reload":["0:0"]},',
    '    {"run":6},',
    '    {"run":7}',
  ]);
});

test.each<[string, (file: AnyFile) => void, string]>([
  [
    "in the version without it",
    (f) => (f.format = "remat-plan/2"),
    "steps[0]: expected a step of format 'remat-plan/2', found \"offload or reload\"",
  ],
  ["of what is not made yet", (f) => (f.steps[0].offload = ["5:0"]), "steps[0].offload: expected a computed value"],
  ["of a source", (f) => (f.steps[0].offload = ["s0"]), 'steps[0].offload: expected an output of an op, found "s0"'],
  [
    "twice",
    (f) => (f.steps[4].offload = ["0:0"]),
    'steps[4].offload: expected a value that is offloaded only once, found "0:0"',
  ],
  ["never", (f) => delete f.steps[0].offload, 'steps[2].reload: expected an offloaded value, found "0:0"'],
  [
    "of what is there",
    (f) => delete f.steps[3].free,
    'steps[5].reload: expected a value that is not on the device, found "0:0"',
  ],
  ["of no value", (f) => (f.steps[2].reload = [7]), "steps[2].reload[0]: expected text, found 7"],
])("offloading %s is refused", (_what, change, message) => {
  const file = JSON.parse(writePlan(offloading()));
  change(file);
  expect(() => readPlan(file)).toThrow(
    expect.objectContaining({ code: "PLAN_CORRUPT", message: expect.stringContaining(message) }),
  );
});
