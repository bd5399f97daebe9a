import { holdPlan } from "@remat/memory/sequence";
import { planOfTrace, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import { expect, it } from "vitest";
import { type Answer, answerOutcome, answerPlan, leadWith } from "../../src/answers/index.js";
import { formatBytes } from "../../src/index.js";

const golden = goldenFiles().find(({ name }) => name === "mem_03_mlp_adam")!;
const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
const graph = planningGraphOfTrace(trace);

it("tells of a plan the peak that the plan predicts, what that costs and recomputes, and whether it fits", async () => {
  const budgetBytes = Math.ceil(0.8 * (await rematerialize(graph, { budgetBytes: 1e15, iterations: 0 })).peakBytes);
  const plan = planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes, iterations: 2000 }));
  const memory = holdPlan(trace, plan);
  const again = plan.steps.filter(({ isRecomputed }) => isRecomputed).length;
  const { peakBytes, recordedPeakBytes } = plan.predicted;
  const told = answerPlan({ name: "plan.json", plan, memory, deviceMemoryBytes: peakBytes });
  expect(told.question).toBe("What does plan.json do?");
  expect(told.answer).toContain(`Peak memory ${formatBytes(peakBytes)}, `);
  expect(told.answer).toContain(`${((1 - peakBytes / recordedPeakBytes!) * 100).toFixed(1)}% less`);
  expect(told.isGood).toBe(true);
  expect(told.reasons.join(" ")).toContain("It fits, with 0 B to spare.");
  expect(told.reasons.join(" ")).toContain(again === 0 ? "It recomputes nothing" : `It recomputes ${again} ops`);
  const tight = answerPlan({ name: "plan.json", plan, deviceMemoryBytes: peakBytes - 1 });
  expect([tight.isGood, tight.reasons.some((reason) => reason === "It does not fit: 1 B too much.")]).toEqual([
    false,
    true,
  ]);
  // Without the trace the plan itself is all there is.
  expect(answerPlan({ name: "plan.json", plan })).toMatchObject({ answer: told.answer });
  expect(answerPlan({ name: "plan.json", plan })).not.toHaveProperty("isGood");
  // For another run it is stale, whatever it predicts.
  const stale = answerPlan({ name: "plan.json", plan, deviceMemoryBytes: peakBytes, mismatch: "op 3 is another" });
  expect(stale.isGood).toBe(false);
  expect(stale.reasons[0]).toMatch(/^Stale: the plan was made for another run \(op 3 is another\)/);
});

it("says nothing that nobody knows", () => {
  expect(answerOutcome({ question: "What does a rank of 8 hold?", peakBytes: 2 ** 30 })).toEqual({
    about: "outcome",
    question: "What does a rank of 8 hold?",
    answer: "Peak memory 1 GiB",
    reasons: [],
  });
  expect(
    answerOutcome({
      question: "?",
      peakBytes: 1000,
      beforeBytes: 4000,
      overhead: 0,
      bytesByCategory: { parameter: 700, activation: 290, other: 10 },
    }),
  ).toMatchObject({
    answer: "Peak memory 1000 B, 75.0% less",
    reasons: ["There is no slowdown.", "Live at the peak: parameters (70%), activations (29%)."],
  });
});

it("lets what becomes of a step lead, with what to type, and says that the rest is of the step as it was recorded", () => {
  const asked = (about: Answer["about"], question: string): Answer => ({ about, question, answer: "", reasons: [] });
  const answers = [
    asked("fit", "Does it fit?"),
    asked("holders", "What uses the most memory?"),
    asked("free", "Can it use less with no slowdown?"),
    asked("next", "Next command"),
  ];
  expect(leadWith([], answers)).toEqual(answers);
  const outcome = asked("outcome", "What does plan.json do?");
  expect(leadWith([outcome], answers).map(({ question }) => question)).toEqual([
    "What does plan.json do?",
    "Next command",
    "Does it fit as recorded?",
    "What uses the most memory as recorded?",
    "Could it use less with no slowdown?",
  ]);
});
