import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comesBefore, compareValues, firstDifference } from "../src/run/compare-runs.js";
import type { StepFigures, StepJob, StepResult } from "../src/run/step-job.js";
import { verifyRun } from "../src/run/verify-run.js";

const step = (loss: number, gradients: Record<string, string>, weights: Record<string, string>): StepFigures => ({
  wallMs: 1,
  cpuMs: 1,
  loss,
  gradients,
  weights,
});
const good = [step(1, { a: "x", b: "y" }, { a: "p" }), step(Number.NaN, { a: "z", b: "w" }, { a: "q" })];

describe("firstDifference", () => {
  it("finds none in a run and itself, whatever its losses", () => {
    expect(firstDifference(good, structuredClone(good))).toBeUndefined();
  });

  it.each([
    [
      "a loss",
      [step(1.0000001, { a: "x", b: "y" }, { a: "p" }), good[1]],
      { step: 0, kind: "loss", expected: 1, found: 1.0000001 },
    ],
    [
      "a loss of the other sign of zero",
      [good[0], step(-0, {}, {})],
      { step: 1, kind: "loss", expected: Number.NaN, found: -0 },
    ],
    [
      "a gradient, before the weight",
      [step(1, { a: "x", b: "?" }, { a: "?" }), good[1]],
      { step: 0, kind: "gradient", name: "b" },
    ],
    ["a weight", [good[0], step(Number.NaN, { a: "z", b: "w" }, { a: "?" })], { step: 1, kind: "weight", name: "a" }],
    ["a gradient that is missing", [step(1, { a: "x" }, { a: "p" }), good[1]], { step: 0, kind: "missing", name: "b" }],
    ["a step that is missing", [good[0]], { step: 1, kind: "missing", name: "the step" }],
  ] as const)("finds %s", (_, found, expected) => {
    expect(firstDifference(good, found as readonly StepFigures[])).toEqual(expected);
  });
});

it("comesBefore orders what a step makes: loss, gradients, weights", () => {
  const loss = { step: 1, kind: "loss", expected: 0, found: 1 } as const;
  const gradient = { step: 1, kind: "gradient", name: "a" } as const;
  const weight = { step: 0, kind: "weight", name: "a" } as const;
  expect([comesBefore(weight, loss), comesBefore(loss, gradient), comesBefore(gradient, weight)]).toEqual([
    true,
    true,
    false,
  ]);
});

it("compareValues counts what differs and how far, bit patterns of zero included", () => {
  fc.assert(
    fc.property(
      fc.float32Array({ minLength: 1, noNaN: true }),
      fc.nat(),
      fc.float({ noNaN: true, noDefaultInfinity: true }),
      (values, at, other) => {
        const index = at % values.length;
        const found = values.slice();
        found[index] = other;
        const same = Object.is(values[index], found[index]);
        const expected = same
          ? { differing: 0, index: -1 }
          : {
              differing: 1,
              index,
              expected: values[index],
              found: found[index],
              maxAbsDifference: Math.abs(values[index] - found[index]),
            };
        expect(compareValues(values, found)).toMatchObject({ elements: values.length, ...expected });
        expect(compareValues(values, values).differing).toBe(0);
      },
    ),
  );
});

describe("verifyRun", () => {
  const job = {
    steps: 2,
    digest: false,
    read: [],
    record: true,
    execution: { kind: "early-release" },
  } as unknown as StepJob;
  const verify = (runs: { stock: StepFigures[][]; executor: StepFigures[][] }, values: Float32Array[] = []) => {
    const jobs: [string, StepJob][] = [];
    const found = verifyRun(job, (name, each) => {
      jobs.push([name, each]);
      return Promise.resolve({ steps: runs[name].shift() ?? good, values: [values.shift()] } as unknown as StepResult);
    });
    return found.then((verification) => ({ verification, jobs }));
  };

  it("asks stock twice, and ours once, for digests of the same steps", async () => {
    const { verification, jobs } = await verify({ stock: [good, good], executor: [good] });
    expect(verification).toEqual({
      steps: 2,
      tensors: 6,
      isEqual: true,
      stockDiffers: undefined,
      difference: undefined,
      values: undefined,
    });
    expect(jobs.map(([name, { execution, digest, record }]) => [name, execution.kind, digest, record])).toEqual([
      ["stock", "stock", true, false],
      ["stock", "stock", true, false],
      ["executor", "early-release", true, false],
    ]);
  });

  it("reads the values of the first tensor that differs", async () => {
    const bad = [good[0], step(Number.NaN, { a: "z", b: "!" }, { a: "!" })];
    const { verification } = await verify({ stock: [good, good], executor: [bad] }, [
      undefined as never,
      undefined as never,
      undefined as never,
      Float32Array.of(1, 2, 3),
      Float32Array.of(1, 2.5, 3),
    ]);
    expect(verification).toMatchObject({
      isEqual: false,
      difference: { step: 1, kind: "gradient", name: "b" },
      values: { elements: 3, differing: 1, index: 1, expected: 2, found: 2.5, maxAbsDifference: 0.5 },
    });
  });

  it("asks nothing of ours where stock differs from itself, but everything before", async () => {
    const unsteady = [good[0], step(7, { a: "z", b: "w" }, { a: "q" })];
    const late = await verify({ stock: [good, unsteady], executor: [unsteady] });
    expect(late.verification).toMatchObject({ isEqual: true, stockDiffers: { step: 1, kind: "loss" } });
    const early = await verify({ stock: [good, unsteady], executor: [[step(5, {}, {}), good[1]]] });
    expect(early.verification).toMatchObject({ isEqual: false, difference: { step: 0, kind: "loss" } });
  });
});
