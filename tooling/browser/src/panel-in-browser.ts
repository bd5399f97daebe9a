import { makeReport, renderReportInPage } from "@remat/report/in-page";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { showMemory } from "remat/panel";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-webgl";
import { layers, sequential } from "@tensorflow/tfjs-layers";

/** The weights after some steps. */
export interface Shown {
  readonly weights: readonly number[];
  readonly tensors: number;
}

/**
 * Trains for some steps on a backend, with or without the panel on the page, which stays until the next call. `shell`
 * is the HTML shell of its reports.
 */
export async function trainUnderPanel(backend: string, isShown: boolean, steps: number, shell: string): Promise<Shown> {
  await tf.setBackend(backend);
  panel?.close();
  panel = isShown
    ? showMemory({
        steps: 2,
        report: async (trace) =>
          renderReportInPage(await makeReport(priced(trace), { title: "a step", planIterations: 10 }), shell),
      })
    : undefined;
  return trainSteps(steps);
}

const priced = (trace: Trace): Trace => priceTrace(trace, deviceSpec(defaultDeviceHere));

let panel: ReturnType<typeof showMemory> | undefined;

export function closePanel(): void {
  panel?.close();
  panel = undefined;
}

/** The error of `showMemory` for wrong options. */
export function refusedPanel(options: Parameters<typeof showMemory>[0]): string {
  try {
    showMemory(options).close();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Trains a new model. The caller yields a frame after each step. */
export async function trainSteps(steps: number): Promise<Shown> {
  const before = tf.memory().numTensors;
  const seeded = (seed: number) => ({ className: "GlorotUniform", config: { seed } }) as never;
  const model = sequential({
    layers: [
      layers.conv2d({
        inputShape: [16, 16, 3],
        filters: 8,
        kernelSize: 3,
        activation: "relu",
        kernelInitializer: seeded(1),
      }),
      layers.flatten(),
      layers.dense({ units: 4, activation: "softmax", kernelInitializer: seeded(2) }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy" });
  const x = tf.tidy(() => tf.reshape(tf.sin(tf.range(0, 8 * 16 * 16 * 3)), [8, 16, 16, 3]));
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d([0, 1, 2, 3, 0, 1, 2, 3], "int32"), 4));
  for (let i = 0; i < steps; i++) {
    await model.trainOnBatch(x, y);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  const weights: number[] = [];
  for (const weight of model.getWeights()) weights.push(...new Uint32Array((await weight.data()).slice().buffer));
  model.optimizer.dispose();
  model.dispose();
  tf.disposeVariables();
  tf.dispose([x, y]);
  return { weights, tensors: tf.memory().numTensors - before };
}
