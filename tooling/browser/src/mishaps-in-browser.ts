import { releaseEarly, withMemoryBudget } from "@remat/checkpoint";
import * as tf from "@tensorflow/tfjs-core";
import { showMemory } from "remat/panel";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-webgl";
import { layers, type Sequential, sequential } from "@tensorflow/tfjs-layers";

export type Way = "stock" | "early release" | "budget";

/** Result of some steps. */
export interface Outcome {
  /** Bits, so that NaN equals itself. */
  readonly weights: readonly number[];
  /** True if the engine is restored. */
  readonly isRestored: boolean;
  readonly tensors: number;
}

/** Trains one step on each backend of a list, moving the weights from one to the next. */
export async function trainAcross(backends: readonly string[], way: Way): Promise<Outcome> {
  await tf.setBackend(backends[0]);
  const before = tf.memory().numTensors;
  const model = network();
  const data = batch();
  const steps = async () => {
    for (const backend of backends) {
      await tf.setBackend(backend);
      await model.trainOnBatch(data.x, data.y);
    }
  };
  if (way === "budget") await withMemoryBudget(700_000, steps);
  else {
    const stop = way === "early release" ? releaseEarly() : () => {};
    await steps();
    stop();
  }
  const weights = await bitsOf(model);
  model.optimizer.dispose();
  model.dispose();
  tf.dispose([data.x, data.y]);
  return { weights, isRestored: !isPatched(), tensors: tf.memory().numTensors - before };
}

/** Trains in a worker, until it is done or is terminated in the middle of a step. */
export function trainInWorker(way: Way, isEnded: boolean): Promise<readonly number[] | "ended"> {
  const worker = new Worker("/train.js", { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }: { data: readonly number[] | "in a step" | Error }) => {
      if (data instanceof Error) reject(data);
      else if (data !== "in a step") resolve(data);
      else if (isEnded) resolve("ended");
      else return;
      worker.terminate();
    };
    worker.postMessage(way);
  });
}

/** The worker's part of this module. */
function workForPage(): void {
  const page = globalThis as unknown as {
    onmessage: (event: { readonly data: Way }) => void;
    postMessage(told: unknown): void;
  };
  page.onmessage = ({ data: way }) => {
    const { runKernel } = tf.engine();
    const engine = tf.engine() as unknown as Record<string, unknown>;
    engine["runKernel"] = function (this: unknown, ...args: unknown[]) {
      if (args[0] === "Conv2DBackpropFilter") page.postMessage("in a step");
      return (runKernel as (...given: unknown[]) => unknown).apply(this, args);
    };
    trainAcross(["webgl", "webgl"], way).then(
      ({ weights }) => page.postMessage(weights),
      (error: unknown) => page.postMessage(error),
    );
  };
}

if (typeof document === "undefined") workForPage();

/** Result of a step with TensorFlow.js from a script tag, a copy that the page loaded before this module's. */
export interface CopyTrained {
  readonly code: string | undefined;
  readonly message: string | undefined;
  /** The weights after a rejected step, and after another step once watching has ended. */
  readonly weights: readonly number[];
  readonly isRestored: boolean;
}

/** Runs a step with the page's other copy of tfjs, `tf`. */
export async function trainOtherCopy(way: Way): Promise<CopyTrained> {
  const other = (globalThis as unknown as { readonly tf: typeof tf }).tf;
  await other.setBackend("cpu");
  const weights = other.variable(other.tensor1d([1, 2]));
  const optimizer = other.train.sgd(0.25);
  const step = () => void optimizer.minimize(() => other.sum(other.mul(weights, weights)));
  const found: { code?: string; message?: string } = {};
  try {
    if (way === "budget") withMemoryBudget(1_000_000, step);
    else {
      const stop = way === "early release" ? releaseEarly() : () => {};
      try {
        step();
      } finally {
        stop();
      }
    }
  } catch (error) {
    Object.assign(found, { code: (error as { code?: string }).code, message: (error as Error).message });
  }
  step();
  return { code: found.code, message: found.message, weights: [...weights.dataSync()], isRestored: !isPatched() };
}

/**
 * Trains with the page in the background, where there are no frames and timers are late, and then in the foreground.
 * The panel shows what it has drawn after each.
 */
export async function trainInBackground(
  way: Way,
): Promise<{ readonly weights: readonly number[]; readonly shown: readonly string[] }> {
  const { requestAnimationFrame: now } = globalThis;
  const waiting: FrameRequestCallback[] = [];
  globalThis.requestAnimationFrame = (callback) => waiting.push(callback);
  const panel = showMemory();
  const summary = () => panel.element.shadowRoot?.querySelector("p")?.textContent ?? "";
  const shown: string[] = [];
  try {
    const { weights } = await trainAcross(["webgl", "webgl", "webgl"], way);
    shown.push(summary());
    globalThis.requestAnimationFrame = now;
    for (const callback of waiting) callback(performance.now());
    shown.push(summary());
    return { weights, shown };
  } finally {
    globalThis.requestAnimationFrame = now;
    panel.close();
  }
}

const isPatched = (): boolean => Object.hasOwn(tf.engine(), "runKernelFunc");

function network(): Sequential {
  const seeded = (seed: number) => ({ className: "GlorotUniform", config: { seed } }) as never;
  const convolution = (seed: number) =>
    layers.conv2d({
      inputShape: [12, 12, 3],
      filters: 8,
      kernelSize: 3,
      padding: "same",
      activation: "relu",
      kernelInitializer: seeded(seed),
    });
  const model = sequential({
    layers: [
      convolution(1),
      convolution(2),
      convolution(3),
      layers.flatten(),
      layers.dense({ units: 4, kernelInitializer: seeded(4) }),
    ],
  });
  model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
  return model;
}

function batch(): { readonly x: tf.Tensor; readonly y: tf.Tensor } {
  const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * i));
  return { x: tf.tensor(numbers(8 * 12 * 12 * 3), [8, 12, 12, 3]), y: tf.tensor(numbers(32), [8, 4]) };
}

async function bitsOf(model: Sequential): Promise<number[]> {
  const bits: number[] = [];
  for (const weight of model.getWeights()) bits.push(...new Uint32Array((await weight.data()).slice().buffer));
  return bits;
}
