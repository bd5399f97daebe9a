import { type StepContext, StepFacts } from "@remat/memory/sequence";
import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";
import { expect, it } from "vitest";
import { type Answer, answerFirst } from "../../src/answers/index.js";
import { heldTree } from "../../src/held-tree/index.js";
import { judgeMemory, type VerdictOptions } from "../../src/verdict/index.js";

const device = (memoryBytes?: number) => ({ name: "card", ...(memoryBytes !== undefined && { memoryBytes }) });

/** A step that keeps the intermediates of its backward pass to the end, as TensorFlow.js does without remat. */
function step(framework = "tfjs", layers = 4, parameterBytes = 0): Trace {
  const b = new TraceBuilder({ framework, device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "net" });
  const make = (category: number, elements: number) => {
    const storage = b.allocate(4 * elements, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  if (parameterBytes > 0) b.allocate(parameterBytes, "cpu", Category.parameter);
  const root = b.call(b.module({ fqn: "net", kind: "Model", leaf: false }), -1, true);
  const stacks: number[] = [];
  const kept: number[] = [];
  const activations: number[] = [];
  let last = make(Category.input, 50).tensor;
  for (let layer = 0; layer < layers; layer++) {
    stacks.push(b.stackOfCall(b.call(b.module({ fqn: `net.layer_${layer}`, kind: "Dense", leaf: true }), root, true)));
    const out = make(Category.activation, 1000);
    b.op({ name: "Relu", stack: stacks[layer], inputs: [last], outputs: [out.tensor], runtimeMs: 1 });
    kept.push(out.storage);
    activations.push(out.tensor);
    last = out.tensor;
  }
  for (let layer = layers - 1; layer >= 0; layer--) {
    const out = make(Category.temporary, 1000);
    b.op({
      name: "ReluGrad",
      phase: Phase.backward,
      stack: stacks[layer],
      inputs: [last, activations[layer]],
      outputs: [out.tensor],
      runtimeMs: 1,
    });
    kept.push(out.storage);
    last = out.tensor;
  }
  for (const storage of kept) b.free(storage);
  return b.build();
}

function answersTo(
  trace: Trace,
  { earlyReleasePeakBytes, ...options }: VerdictOptions & StepContext,
  plans?: Parameters<typeof answerFirst>[1]["plans"],
) {
  const facts = new StepFacts(trace, { earlyReleasePeakBytes });
  return answerFirst(trace, {
    verdict: judgeMemory(facts, options),
    tree: heldTree(trace, facts.storagesAtPeak),
    idle: facts.idle,
    plans,
  });
}
const text = (answers: readonly Answer[]): string[] =>
  answers.map(({ question, answer, reasons, command }) =>
    [question, answer, ...reasons, ...(command === undefined ? [] : [`$ ${command}`])].join(" | "),
  );

it("names storages by themselves among what holds the peak, where nobody made modules of them", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  for (const [name, bytes] of [
    ["MatMul", 4000],
    ["Relu", 3600],
    ["Tanh", 8],
  ] as const)
    b.op({
      name,
      outputs: [
        b.tensor({ storage: b.allocate(bytes, "cpu", Category.activation), dtype: "float32", shape: [bytes / 4] }),
      ],
    });
  b.allocate(40, "cpu", Category.optimizerState);
  const trace = b.build();
  const tree = heldTree(trace, new StepFacts(trace).storagesAtPeak);
  const [, holders] = answerFirst(trace, { verdict: undefined, tree, idle: undefined });
  expect(holders.reasons).toEqual([
    "52% activations: 3.906 KiB, op 0 MatMul · float32 [1000].",
    "47% activations: 3.516 KiB, op 1 Relu · float32 [900].",
  ]);
});

it("answers of a step that fits: room, holders, what is free and why, what to type", () => {
  const commandFor = () => "remat run net.js --early-release";
  const answers = answersTo(step(), { device: device(40_000), earlyReleasePeakBytes: 20_000, commandFor });
  expect(text(answers)).toEqual([
    "Does it fit? | Yes, with 7.617 KiB to spare | Peak memory is 31.45 KiB, in op 7 ReluGrad of net.layer_0. | card has 39.06 KiB.",
    "What uses the most memory? | Activations (50%), temporaries (50%) | 50% activations allocated by 4 Dense: 4 × 3.906 KiB, layer_* · Relu · float32 [1000]. | 50% temporaries allocated by 4 Dense: 4 × 3.906 KiB, layer_* · ReluGrad · float32 [1000].",
    "Can it use less with no slowdown? | Yes, 38% less: 19.53 KiB with early release | 62% of the peak is not used by any later op: activations (37%), temporaries (25%). TensorFlow.js frees it only at the end of the pass.",
    "Next command |  | $ remat run net.js --early-release",
  ]);
  expect(answers.map(({ isGood }) => isGood)).toEqual([true, undefined, true, undefined]);
});

it("answers of one that does not fit: what is missing, and every way that was found", () => {
  const answers = answersTo(step(), {
    device: device(20_000),
    ways: [
      { kind: "plan", peakBytes: 18_000, overhead: 0.05 },
      { kind: "batch", peakBytes: 15_000, batch: 2 },
    ],
    commandFor: () => "remat plan net.js --budget 20000B",
  });
  expect(text(answers)[0]).toContain("No, 11.91 KiB too much");
  expect(text(answers)[3]).toBe(
    "Next command |  | It fits with a plan (17.58 KiB, 5.00% more time). | It fits with batch 2 (14.65 KiB). | $ remat plan net.js --budget 20000B",
  );
  expect(answers[0].isGood).toBe(false);
  expect(text(answersTo(step(), { device: device(20_000), ways: [] }))[3]).toContain(
    "Nothing remat tried makes it fit.",
  );
  // Nothing frees parameters: whoever reads it looks for another device.
  const large = step("tfjs", 4, 30_000);
  expect(text(answersTo(large, { device: device(20_000), ways: [] }))[3]).toContain(
    "Nothing remat tried makes it fit: parameters alone take 29.30 KiB.",
  );
  const commandFor = () => "remat plan net.js --max-overhead 5%";
  expect(text(answersTo(large, { device: device(20_000), ways: [], least: { bytes: 40_000 }, commandFor }))[3]).toBe(
    "Next command |  | Nothing remat tried makes it fit: parameters alone take 29.30 KiB. | No plan needs less than 39.06 KiB.",
  );
});

it("says what time would buy, and never calls a plan free that costs time", () => {
  const plan = (allowedOverhead: number, peakBytes: number, overhead: number) => ({
    allowedOverhead,
    peakBytes,
    stepMs: 8,
    overhead,
    gap: 0,
  });
  const [, , free] = answersTo(step("pytorch"), { device: device() }, [plan(0, 30_000, 0.125), plan(0.2, 9_000, 0.18)]);
  const twice = [plan(0.05, 20_000, 0.04), plan(0.2, 20_000, 0.04)];
  expect(answersTo(step("pytorch"), { device: device() }, twice)[2].reasons.slice(1)).toEqual([
    "19.53 KiB is possible with 4.00% more time.",
  ]);
  expect(free.answer).toBe("No");
  expect(free.reasons.slice(1)).toEqual(["8.789 KiB is possible with 18.0% more time."]);
  expect(free.reasons[0]).not.toContain("TensorFlow.js");
});

it("does not say that nothing is free to gain where something is held longer than it is used, and nobody has planned", () => {
  const [, , free] = answersTo(step("pytorch"), { device: device() });
  expect(free.answer).toBe("");
  expect(free.reasons[0]).toMatch(/of the peak is not used by any later op/);
});

it("promises nothing of a trace that breaks off", () => {
  const broken = Object.assign(step(), { truncated: { line: 12, reason: "the file ends" } });
  const [fit, , free] = answersTo(broken, { device: device(40_000) });
  expect(fit.reasons.at(-1)).toContain("is damaged after line 12");
  expect([free.answer, free.reasons.length, free.isGood]).toEqual(["", 1, undefined]);
});

it("says what is not known: the device's memory, or when storages are freed", () => {
  expect(text(answersTo(step(), { device: device() }))[0]).toBe(
    "Does it fit? | Peak memory 31.45 KiB | Peak memory is 31.45 KiB, in op 7 ReluGrad of net.layer_0. | The memory of card is unknown.",
  );
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  expect(text(answerFirst(b.build(), { verdict: undefined, tree: undefined, idle: undefined }))).toEqual([
    "Does it fit? | Unknown | The run does not record when storages are freed.",
  ]);
});
