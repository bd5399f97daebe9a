import { findBackend } from "@remat/dispatch-hook/backends";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { allGenerators } from "../kernels/generators/all-generators.js";
import { writtenInputs } from "./run-case.js";

test("kernels of cpu write to no inputs but those that are told", async () => {
  await tf.setBackend("cpu");
  const written = new Map<string, string>();
  for (const { kernelName } of tf.getKernelsForBackend("cpu"))
    for (const kernelCase of fc.sample(allGenerators[kernelName], { seed: 7, numRuns: 60 }))
      for (const name of writtenInputs(kernelName, kernelCase)) written.set(kernelName, name);
  expect([...written]).toEqual([...(findBackend("cpu").writesTo ?? [])]);
});
