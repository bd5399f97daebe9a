import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { memoryTimeline } from "@remat/memory";
import { describeTrace, nativeApp, sampledCases } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { optimizerNames, type TraceStepOptions, traceFakeStep, traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { beforeAll, describe, expect, it } from "vitest";
import type { BuildArgs, Example } from "../example.js";
import { exampleNamed, exampleNames } from "./examples.js";
import { countLiveBuffers } from "./live-buffers.js";

/** The cpu backend takes half a minute for it. */
const largest = "resnet50";
/** The cpu backend takes seconds per sample for them, so it runs them at night. The wasm backend always runs them. */
const large = new Set(["efficientnet-b0", "mobilenet-v1", "mobilenet-v2"]);
const runsLarge = process.env.REMAT_LARGE_MODELS !== undefined;

/** Native is compared where a folder is named in which tfjs-node is installed with its addon. */
const nativeFolder = nativeApp();
const backends = ["cpu", "wasm", ...(nativeFolder === undefined ? [] : (["tensorflow"] as const))] as const;

type Export = (args: BuildArgs) => Example;

const peakBytes = (trace: Trace): number => memoryTimeline(trace).highestBytes.reduce((a, b) => Math.max(a, b), 0);

/** The first difference between two traces, with the preceding events of both; undefined if there is none. */
function firstDifference(predicted: Trace, measured: Trace): string | undefined {
  const fake = describeTrace(predicted);
  const real = describeTrace(measured);
  const at = fake.findIndex((line, i) => line !== real[i]);
  if (at < 0 && fake.length === real.length) return undefined;
  const event = at < 0 ? fake.length : at;
  const from = Math.max(0, event - 8);
  return [
    `event ${event} of ${fake.length} predicted and ${real.length} measured:`,
    ...real.slice(from, event).map((line) => `    ${line}`),
    ...fake.slice(event, event + 4).map((line) => `  predicted ${line}`),
    ...real.slice(event, event + 4).map((line) => `  measured  ${line}`),
  ].join("\n");
}

async function compare(build: Export, options: TraceStepOptions): Promise<void> {
  const backend = tf.getBackend() as "cpu" | "wasm" | "tensorflow";
  const predicted = await traceFakeStep(build, { size: "tiny", backend, ...options });
  const buffers = countLiveBuffers();
  try {
    const measured = await traceStep(
      (args: BuildArgs) => {
        const example = build(args);
        // The step's peak is meant, not that of initializers.
        buffers.restart();
        return example;
      },
      { size: "tiny", ...options },
    );
    expect([predicted.header.mode, measured.header.mode]).toEqual(["fake", "real"]);
    expect(firstDifference(predicted, measured)).toBeUndefined();
    expect({ predictedBytes: peakBytes(predicted) }).toEqual({ predictedBytes: peakBytes(measured) });
    // TensorFlow does not tell of its buffers.
    if (backend !== "tensorflow")
      expect({ predictedBytes: peakBytes(predicted) }).toEqual({ predictedBytes: buffers.peakBytes() });
  } finally {
    buffers.stop();
  }
}

describe.each(backends)(
  "the prediction of fake mode is what a step on %s allocates, to the byte and in order",
  (backend) => {
    beforeAll(async () => {
      await selectBackend({
        for: "training",
        backend,
        ...(backend === "tensorflow" && { from: nativeFolder as string }),
      });
    });
    const trained = exampleNames.filter(
      (name) => backend !== "cpu" || (name !== largest && (runsLarge || !large.has(name))),
    );

    it.each(sampledCases(trained, 3))(
      "%s: the loss and its gradients",
      async (name) => {
        const isSingle = backend === "cpu" && large.has(name);
        await compare(await exampleNamed(name), { optimizer: "none", ...(isSingle && { batch: 1 }) });
      },
      240_000,
    );

    it.each(sampledCases(["transformer", "gpt-2"], 2, backend === "cpu" ? 0 : 1))(
      "%s: next tokens, trained with Adam",
      async (name) => {
        const build = await exampleNamed(name);
        await compare((args) => build({ ...args, objective: "next-token" }), {
          optimizer: "adam",
          steps: 2,
          stepsBefore: 0,
        });
      },
    );

    it.each(optimizerNames)(
      "two steps of nested models that share layers, and of an LSTM, with %s",
      async (optimizer) => {
        for (const name of ["shared-layers", "lstm"])
          await compare(await exampleNamed(name), { optimizer, steps: 2, stepsBefore: 0 });
      },
    );
  },
);
