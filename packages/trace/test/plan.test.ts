import { expect, test } from "vitest";
import {
  findPlanMismatch,
  fingerprintOf,
  opOccurrences,
  Phase,
  type Plan,
  readPlan,
  type Trace,
  TraceBuilder,
  writePlan,
} from "../src/index.js";

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
  expect(opOccurrences(trace(8))).toEqual([
    "net.block[0] forward Relu 0: float32[2,8]",
    "net.block[0] forward Tanh 0: float32[2,8]",
    "net.block[0] forward Relu 1: float32[2,8]",
    "net.block[1] forward Relu 0: float32[2,8]",
    "net.block[1] forward Tanh 0: float32[2,8]",
    "net.block[1] forward Relu 1: float32[2,8]",
    "net.block[1] backward Step 0: float32[2,8]",
    "- forward Sum 0: float32[2,8]",
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
      step: { size: "full", batch: 8, loss: "sum", optimizer: "adam", grouping: "auto", seed: 3 },
      fingerprint: fingerprintOf(ops),
    },
    origin: { method: "annealing", budgetBytes: 100, order: "fixed", seed: 1, iterations: 10 },
    predicted: { peakBytes: 96, cost: 9, overhead: 0.125, lowerBound: 9, gap: 0, plain: { peakBytes: 128, cost: 8 } },
    ops,
    sources: [{ before: 2, ordinal: 0, bytes: 8 }],
    steps: [
      { op: 0, isAgain: false, drop: [] },
      { op: 1, isAgain: false, drop: [{ op: 0, output: 0 }] },
      { op: 2, isAgain: false, drop: [{ source: 0 }, { op: 1, output: 0 }] },
      { op: 0, isAgain: true, drop: [] },
      ...[3, 4, 5, 6, 7].map((op) => ({ op, isAgain: false, drop: [] })),
    ],
  };
}

test("a plan is read as it was written, one step a line", () => {
  const text = writePlan(plan());
  expect(readPlan(text)).toEqual(plan());
  expect(readPlan(JSON.parse(text))).toEqual(plan());
  expect(text.split("\n").filter((line) => /"(run|again)"/.test(line))).toEqual([
    '    {"run":0},',
    '    {"run":1,"drop":["0:0"]},',
    '    {"run":2,"drop":["s0","1:0"]},',
    '    {"again":0},',
    '    {"run":3},',
    '    {"run":4},',
    '    {"run":5},',
    '    {"run":6},',
    '    {"run":7}',
  ]);
});

test("a plan fits the trace it was made for, and says where it does not fit another", () => {
  expect(findPlanMismatch(plan(), trace(8))).toBeUndefined();
  expect(findPlanMismatch(plan(), trace(9))).toEqual({
    op: 0,
    planned: "net.block[0] forward Relu 0: float32[2,8]",
    found: "net.block[0] forward Relu 0: float32[2,9]",
  });
  expect(findPlanMismatch({ ...plan(), ops: plan().ops.slice(0, 7) }, trace(8))).toEqual({
    op: 7,
    planned: undefined,
    found: "- forward Sum 0: float32[2,8]",
  });
});

// biome-ignore lint/suspicious/noExplicitAny: files that are wrong
type AnyFile = any;

test.each<[string, (file: AnyFile) => void, string, string]>([
  [
    "another version",
    (f) => (f.format = "remat-plan/9"),
    "PLAN_FORMAT",
    "expected format 'remat-plan/1', found \"remat-plan/9\"",
  ],
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
    (f) => (f.steps[3] = { again: 5 }),
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
    "steps: expected every op to run, found \"no run of op 7 ('- forward Sum 0: float32[2,8]')\"",
  ],
  [
    "a value not made",
    (f) => (f.steps[0].drop = ["7:0"]),
    "PLAN_CORRUPT",
    'steps[0].drop: expected what has been made, found "op 7"',
  ],
  [
    "a value that is none",
    (f) => (f.steps[0].drop = ["x"]),
    "PLAN_CORRUPT",
    "steps[0].drop[0]: expected 'op:output' or 's' and a source, found \"x\"",
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

test("what is no JSON is refused", () => {
  expect(() => readPlan("{")).toThrow(expect.objectContaining({ code: "PLAN_CORRUPT" }));
});
