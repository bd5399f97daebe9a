import { planningGraph } from "@remat/planner/graph";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test } from "vitest";
import { buildTrace, type OpSpec } from "../../../packages/planner/test/plan/random-traces.js";
import { checkFault } from "../src/faults/check-fault.js";
import { checkGraph } from "../src/graphs/check-graph.js";
import { checkTracePlans } from "../src/graphs/check-trace-plans.js";
import { checkPlan } from "../src/plans/check-plan.js";
import { planSubjects } from "../src/plans/plan-subjects.js";
import { executions } from "../src/programs/executions.js";

beforeAll(async () => {
  tf.env().set("PROD", true);
  await tf.setBackend("cpu");
});

const program = `async ({ tf, t, block }) => {
  const w = tf.variable(tf.randomNormal([6, 6], 0, 0.5, "float32", 1), true, "w");
  const x = tf.randomNormal([4, 6], 0, 1, "float32", 2);
  const optimizer = tf.train.sgd(0.1);
  const layers = block((x) => tf.sin(tf.tanh(tf.matMul(x, w))));
  for (let i = 0; i < 2; i++)
    await t.step(() => tf.tidy(() => t.note("loss", optimizer.minimize(() => tf.mean(layers(x)), true))));
  optimizer.dispose();
  tf.disposeVariables();
}`;

test("a failing kernel is seen as it fails, however the program is run", async () => {
  for (const way of Object.keys(executions))
    for (const call of [0, 2, 5, 9])
      for (const moment of ["before", "after"] as const)
        expect([way, call, moment, await checkFault(program, way, { call, moment })]).toEqual([
          way,
          call,
          moment,
          undefined,
        ]);
});

test("a program in which the failure is not seen is told", async () => {
  const hiding = program
    .replace("await t.step(() => tf.tidy(() => t.note(", "try { tf.tidy(() => t.note(")
    .replace("true))));", "true))); } catch {}");
  expect(await checkFault(hiding, "released early", { call: 3, moment: "before" })).toMatch(/sees nothing/);
});

test("plans that are drawn recompute, are followed as they are, and refused where they are none", async () => {
  const [{ source, file, expected, plan }] = await planSubjects(1, 1);
  expect(plan.steps.some(({ isRecomputed }) => isRecomputed)).toBe(true);
  expect(await checkPlan(source, file, expected)).toBeUndefined();
  expect(await checkPlan(source, {}, expected)).toBeUndefined();
  expect(
    await checkPlan(
      source.replace("return tf.", "return tf.mul(2, tf.").replace(";\n};\nawait", ");\n};\nawait"),
      file,
      expected,
    ),
  ).toMatch(/expected/);
});

test("graphs are planned as cheaply as exhaustive search does", async () => {
  const chain = ["f1", "f2", "f3", "b3", "b2", "b1"].map((name, v) => ({
    name,
    cost: 1,
    outputBytes: [2],
    inputs: v === 0 ? [] : v < 3 ? [[v - 1, 0] as const] : [[v - 1, 0] as const, [5 - v, 0] as const],
  }));
  for (const order of ["fixed", "free"] as const)
    for (const share of [1, 0.8, 0.5]) expect(await checkGraph(planningGraph(chain), share, order)).toBeUndefined();
});

test("planned steps hold what was predicted", async () => {
  const op = (inputs: number[]): OpSpec => ({
    inputs,
    bytes: [4],
    ms: 1,
    kind: "plain",
    inside: 0,
    constant: 0,
    isResult: false,
  });
  const trace = buildTrace([op([1]), op([2]), op([3])], [op([4]), op([3, 5]), op([2, 6])]);
  expect(await checkTracePlans(trace, 0.8, 0)).toBeUndefined();
});
