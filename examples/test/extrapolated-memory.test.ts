import { heldPeak } from "@remat/memory";
import { extrapolateRuns } from "@remat/memory/extrapolation";
import { sampledCases } from "@remat/testkit";
import type { RematError, Trace } from "@remat/trace";
import { optimizerNames, traceFakeStep } from "@remat/tracer";
import type * as tfjs from "@tensorflow/tfjs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BuildArgs, Example } from "../example.js";
import { exampleNamed, exampleNames } from "./examples.js";

const bytesOf = ({ storages, events }: Trace): unknown => [[...storages.bytes], [...events.kind], [...events.value]];

/**
 * Compares the prediction for the last trace from the others with its value. False if it is a different step, which
 * remat itself detects.
 */
function expectPredicted(traces: readonly (readonly [size: number, trace: Trace])[]): boolean {
  const runs = traces.map(([size, trace]) => ({ name: String(size), trace }));
  const sizes = traces.map(([size]) => size);
  try {
    extrapolateRuns(runs, sizes);
  } catch (error) {
    if ((error as RematError).code === "RUNS_DIFFER") return false;
    throw error;
  }
  const { traceAt, peakAt, irregular } = extrapolateRuns(runs.slice(0, -1), sizes.slice(0, -1));
  expect(irregular).toEqual([]);
  const [size, trace] = traces[traces.length - 1];
  expect(bytesOf(traceAt(size))).toEqual(bytesOf(trace));
  const { peakBytes, op, bytesByCategory } = heldPeak(trace);
  expect(peakAt(size)).toMatchObject({ peakBytes, op, bytesByCategory });
  return true;
}

/** Attention over sequences of any length, with its scores. */
function attention(length: number, width: number) {
  return ({ tf }: BuildArgs): Example => {
    const names = ["query", "key", "value", "out"];
    const parameters = Object.fromEntries(names.map((name) => [name, tf.variable(tf.randomNormal([width, width]))]));
    const project = (x: tfjs.Tensor, name: string): tfjs.Tensor3D =>
      tf.reshape(tf.matMul(tf.reshape(x, [-1, width]), parameters[name] as tfjs.Tensor2D), [2, length, width]);
    const forward = (x: tfjs.Tensor | tfjs.Tensor[]): tfjs.Tensor => {
      const input = x as tfjs.Tensor;
      const scores = tf.softmax(tf.matMul(project(input, "query"), project(input, "key"), false, true));
      return project(tf.matMul(scores, project(input, "value")), "out");
    };
    return { name: "Attention", forward, parameters, inputs: tf.randomNormal([2, length, width]) };
  };
}

describe("a step of TensorFlow.js at another size is what is told from steps at some", () => {
  const sizes = (count: number, max: number) =>
    fc.uniqueArray(fc.integer({ min: 2, max }), { minLength: count, maxLength: count });

  // The gradient of `Tile` has a slice and an addition for each repeat, so a larger batch has more ops. Native `Unpack`
  // shares a buffer if its slices are aligned: in a batch of 4 or 8.
  const changing: Readonly<Record<string, "always" | "at some batches">> = {
    "shared-layers": "always",
    lstm: "at some batches",
  };

  it.each(sampledCases(exampleNames, 3))("%s: from two batches a third, whatever the optimizer", async (name) => {
    const build = await exampleNamed(name);
    let told = 0;
    await fc.assert(
      fc.asyncProperty(sizes(3, 7), fc.constantFrom(...optimizerNames), async (batches, optimizer) => {
        const traces: (readonly [number, Trace])[] = [];
        for (const batch of batches)
          traces.push([batch, await traceFakeStep(build, { size: "tiny", batch, optimizer, backend: "tensorflow" })]);
        if (expectPredicted(traces)) told++;
      }),
      { numRuns: 2 },
    );
    if (changing[name] !== "at some batches") expect(told > 0).toBe(changing[name] === undefined);
  });

  it("attention: from three lengths a fourth, a square", async () => {
    await fc.assert(
      fc.asyncProperty(sizes(4, 40), fc.integer({ min: 1, max: 12 }), async (lengths, width) => {
        const traces: (readonly [number, Trace])[] = [];
        for (const length of lengths)
          traces.push([length, await traceFakeStep(attention(length, width), { backend: "tensorflow" })]);
        expect(expectPredicted(traces)).toBe(true);
      }),
      { numRuns: 10 },
    );
  });
});
