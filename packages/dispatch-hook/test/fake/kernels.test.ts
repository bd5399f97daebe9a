import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { kernelsOf } from "../../src/backends/kernel-rules.js";
import { fakeableBackend } from "../../src/fake/fakeable-backend.js";
import { DataDependentError, fakeMode } from "../../src/fake/index.js";
import { allGenerators } from "../kernels/generators/all-generators.js";
import { runCase } from "./run-case.js";

/** Kernels whose output shapes depend on values, and Draw, which reads them. */
const dataDependent = new Set(
  `Draw NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 RaggedGather RaggedRange RaggedTensorToTensor SparseFillEmptyRows
  StringNGrams StringSplit Unique`.split(/\s+/),
);

const registered = (backend: string): string[] =>
  tf
    .getKernelsForBackend(backend)
    .map((config) => config.kernelName)
    .sort();

beforeAll(async () => {
  await tf.setBackend("cpu");
  // The part of a browser that the Draw kernel needs.
  vi.stubGlobal(
    "ImageData",
    vi.fn(function ImageData() {}),
  );
  return () => vi.unstubAllGlobals();
});

test("fake mode has exactly the kernels that the cpu backend registers", () => {
  expect([...kernelsOf(fakeableBackend("cpu").kernels)].sort()).toEqual(registered("cpu"));
});

test("every kernel has a generator", () => {
  expect(registered("cpu").filter((kernel) => allGenerators[kernel] === undefined)).toEqual([]);
});

describe("shapes, dtypes, data ids and reference counts are those of the cpu backend", () => {
  test.each(registered("cpu"))("%s", (kernel) => {
    let ran = 0;
    const cases = fc.sample(allGenerators[kernel], { seed: 20_240_601, numRuns: 100 });
    const run = () => cases.map((kernelCase) => runCase(kernel, kernelCase));
    const reals = run();
    // In a mode that is opened once: to open it takes longer than a kernel.
    for (const [i, fake] of fakeMode(run).entries()) {
      const real = reals[i];
      const told = JSON.stringify(cases[i]);
      if (real.error === undefined) ran++;
      if (dataDependent.has(kernel) && fake.error instanceof DataDependentError) continue;
      if (real.error !== undefined) expect(fake.error, `cpu throws ${real.error}: ${told}`).toBeInstanceOf(Error);
      else expect(fake, told).toEqual(real);
    }
    // A generator of cases that only throw would prove nothing.
    expect(ran / cases.length).toBeGreaterThan(0.5);
  });
});

test("kernels whose shapes depend on values say so", () => {
  for (const kernel of dataDependent) {
    const outcomes = fc
      .sample(allGenerators[kernel], { seed: 1, numRuns: 20 })
      .map((kernelCase) => fakeMode(() => runCase(kernel, kernelCase)));
    const errors = outcomes.map((outcome) => outcome.error).filter((error) => error instanceof DataDependentError);
    expect(errors.map((error) => error.kernel)).toContain(kernel);
    if (kernel !== "NonMaxSuppressionV4") expect(errors.length).toBe(20);
  }
});
