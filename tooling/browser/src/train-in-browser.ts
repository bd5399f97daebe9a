import { checkpointLayers, releaseEarly, stopOnContextLoss, verifyReplays, withMemoryBudget } from "@remat/checkpoint";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import "@tensorflow/tfjs-backend-webgl";
import "@tensorflow/tfjs-backend-webgpu";
import { layers, type Sequential, sequential } from "@tensorflow/tfjs-layers";

setWasmPaths("/");

/** Result of some training steps. */
export interface Training {
  readonly losses: readonly number[];
  /** The bits of all weights, one after the other. */
  readonly weights: readonly number[];
  /** The highest number of tensor bytes after any kernel, as reported by `tf.memory()`. */
  readonly peakBytes: number;
  /** The same for textures and buffers in use on the GPU, or 0 on cpu. */
  readonly gpuPeakBytes: number;
  /** The same for all allocated ones, including those that tfjs keeps for reuse. */
  readonly allocatedPeakBytes: number;
  /** Tensors that exist afterwards but did not before. */
  readonly leakedTensors: number;
  /** Number of ops recomputed within a budget, and the result of planning. */
  readonly recomputedOps: number;
  readonly plan: string;
}

/**
 * How to train: the budget, and whether it is kept without a plan. Each replay is verified, except on webgpu, which has
 * no synchronous read.
 */
export type Way =
  | "stock"
  | "early release"
  | "blocks"
  | { readonly budget: number | `${number}%`; readonly online: boolean };

/** Trains a small network for some steps on a backend. */
export async function train(backend: string, way: Way, steps: number): Promise<Training> {
  if (!(await tf.setBackend(backend))) throw new Error(`backend '${backend}' did not start`);
  await tf.ready();
  const before = tf.memory().numTensors;
  const model = network();
  const x = tf.tensor(numbers(8 * 12 * 12 * 3), [8, 12, 12, 3]);
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d([0, 1, 2, 3, 4, 5, 6, 7], "int32"), 10));
  const losses: number[] = [];
  const step = async () => void losses.push((await model.trainOnBatch(x, y)) as number);
  const found = { recomputedOps: 0, plan: "" };
  const stop =
    way === "early release" ? releaseEarly() : way !== "stock" && backend !== "webgpu" ? verifyReplays() : () => {};
  const endBlocks = way === "blocks" ? checkpointLayers(model, "*") : () => {};
  const peak = watchPeak();
  try {
    if (typeof way === "string") for (let i = 0; i < steps; i++) await step();
    else
      await withMemoryBudget(
        way.budget,
        async (execution) => {
          for (let i = 0; i < steps; i++) {
            await step();
            found.recomputedOps += execution.lastStep?.recomputedOps ?? 0;
            found.plan = (await execution.planned).kind;
          }
        },
        { online: way.online, planningMs: 20_000 },
      );
  } finally {
    peak.stop();
    stop();
    endBlocks();
  }
  const weights: number[] = [];
  for (const weight of model.getWeights()) weights.push(...new Uint32Array((await weight.data()).slice().buffer));
  model.optimizer.dispose();
  model.dispose();
  tf.disposeVariables();
  x.dispose();
  y.dispose();
  return { losses, weights, ...peak.found, ...found, leakedTensors: tf.memory().numTensors - before };
}

/** Runs a step within a budget that is too small. */
export async function trainInTooLittle(backend: string): Promise<{ readonly code: string; readonly updates: number }> {
  await tf.setBackend(backend);
  const model = network();
  const x = tf.tensor(numbers(8 * 12 * 12 * 3), [8, 12, 12, 3]);
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d([0, 1, 2, 3, 4, 5, 6, 7], "int32"), 10));
  let code = "none";
  try {
    await withMemoryBudget(200_000, () => model.trainOnBatch(x, y));
  } catch (error) {
    ({ code } = error as { code: string });
  }
  const updates = (model.optimizer as tf.AdamOptimizer).iterations;
  model.optimizer.dispose();
  model.dispose();
  tf.disposeVariables();
  tf.dispose([x, y]);
  return { code, updates };
}

/**
 * Trains a model whose memory is mostly weights for some steps: unmodified, then within a fraction of the baseline's
 * memory. Returns the GPU memory of each, and the baseline's as predicted.
 */
export async function trainDense(
  backend: string,
  budget: `${number}%`,
  steps: number,
): Promise<{
  readonly stockBytes: number;
  readonly toldBytes: number;
  readonly gpuBytes: readonly number[];
  readonly isEqual: boolean;
}> {
  await tf.setBackend(backend);
  const x = tf.tensor(numbers(16 * 256), [16, 256]);
  const make = () => {
    const w = tf.tidy(() => tf.variable(tf.tensor(numbers(256 * 256), [256, 256])));
    const optimizer = tf.train.momentum(0.1, 0.9);
    const step = () =>
      optimizer.minimize(() => tf.mean(tf.square(tf.matMul(x as tf.Tensor2D, w as never))) as tf.Scalar);
    return { w, optimizer, step };
  };
  const end = async ({ w, optimizer }: ReturnType<typeof make>) => {
    const values = await w.data();
    optimizer.dispose();
    w.dispose();
    return values.toString();
  };
  const stock = make();
  const ofStock = watchPeak();
  // On webgpu, disposal waits for a number of queued kernels, here set to none.
  const mostQueued = "WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE";
  const queued = tf.env().getNumber(mostQueued);
  tf.env().set(mostQueued, 1);
  for (let i = 0; i < steps; i++) stock.step();
  tf.env().set(mostQueued, queued);
  ofStock.stop();
  const expected = await end(stock);
  const trained = make();
  const gpuBytes: number[] = [];
  let toldBytes = 0;
  await withMemoryBudget(budget, async (execution) => {
    for (let i = 0; i < steps; i++) {
      const peak = watchPeak();
      trained.step();
      peak.stop();
      gpuBytes.push(peak.found.gpuPeakBytes);
      await execution.planned;
    }
    toldBytes = execution.stockPeakBytes ?? 0;
  });
  const values = await end(trained);
  x.dispose();
  return { stockBytes: ofStock.found.gpuPeakBytes, toldBytes, gpuBytes, isEqual: values === expected };
}

/** Result of training whose context was lost after its second step. */
export interface LostTraining {
  /** Number of completed steps. */
  readonly steps: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
  /** Error code of reading a weight afterwards. */
  readonly readCode: string | undefined;
  /** True if ops run again after guarding has ended. */
  readonly runsAfterwards: boolean;
}

/**
 * Trains on webgl and loses the context after two steps, as when a browser takes it away: in the middle of running
 * code, or between its turns.
 */
export async function loseContext(isRestored: boolean, steps: number): Promise<LostTraining> {
  await tf.setBackend("webgl");
  const { gl } = (tf.backend() as unknown as { gpgpu: { gl: WebGLRenderingContext } }).gpgpu;
  const loss = gl.getExtension("WEBGL_lose_context")!;
  const end = stopOnContextLoss();
  const model = network();
  const x = tf.tensor(numbers(8 * 12 * 12 * 3), [8, 12, 12, 3]);
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d([0, 1, 2, 3, 4, 5, 6, 7], "int32"), 10));
  const found = { steps: 0, runsAfterwards: false };
  const codeOf = async (run: () => unknown): Promise<{ code?: string; message?: string }> => {
    try {
      await run();
      return {};
    } catch (error) {
      return error as { code?: string; message?: string };
    }
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve, 100));
  const { code, message } = await codeOf(async () => {
    for (; found.steps < steps; found.steps++) {
      if (found.steps === 2) {
        loss.loseContext();
        if (isRestored) {
          await turn();
          loss.restoreContext();
          await turn();
        }
      }
      await model.trainOnBatch(x, y);
    }
  });
  const { code: readCode } = await codeOf(() => model.getWeights()[0].dataSync());
  end();
  await tf.setBackend("cpu");
  found.runsAfterwards = tf.tidy(() => tf.add(tf.scalar(1), 1).dataSync()[0]) === 2;
  return { ...found, code, message, readCode };
}

function network(): Sequential {
  const convolution = (filters: number, seed: number) =>
    layers.conv2d({
      filters,
      kernelSize: 3,
      padding: "same",
      activation: "relu",
      kernelInitializer: glorot(seed),
      ...(seed === 1 ? { inputShape: [12, 12, 3] } : {}),
    });
  const model = sequential({
    layers: [
      convolution(16, 1),
      layers.batchNormalization(),
      convolution(16, 2),
      layers.maxPooling2d({ poolSize: 2 }),
      convolution(32, 3),
      layers.globalAveragePooling2d({}),
      layers.dense({ units: 10, activation: "softmax", kernelInitializer: glorot(4) }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy" });
  return model;
}

const glorot = (seed: number) => ({ className: "GlorotUniform", config: { seed } }) as never;

/** The same in every run. */
const numbers = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => Math.sin(i * i));

/** GPU memory as webgl and webgpu report it, by different names. */
interface GpuMemory extends tf.MemoryInfo {
  readonly numBytesInGPU?: number;
  readonly numBytesInGPUAllocated?: number;
  readonly numBytesAllocatedInGPU?: number;
}

/** Reads `tf.memory()` after each kernel, without the hook. */
function watchPeak(): {
  readonly found: Pick<Training, "peakBytes" | "gpuPeakBytes" | "allocatedPeakBytes">;
  stop(): void;
} {
  const engine = tf.engine();
  const { runKernel } = engine;
  const found = { peakBytes: 0, gpuPeakBytes: 0, allocatedPeakBytes: 0 };
  engine.runKernel = function (this: typeof engine, ...args: Parameters<typeof runKernel>) {
    const result = runKernel.apply(this, args);
    const {
      numBytes,
      numBytesInGPU = 0,
      numBytesInGPUAllocated,
      numBytesAllocatedInGPU = 0,
    } = tf.memory() as GpuMemory;
    found.peakBytes = Math.max(found.peakBytes, numBytes);
    found.gpuPeakBytes = Math.max(found.gpuPeakBytes, numBytesInGPU);
    found.allocatedPeakBytes = Math.max(found.allocatedPeakBytes, numBytesInGPUAllocated ?? numBytesAllocatedInGPU);
    return result;
  } as typeof runKernel;
  return {
    found,
    stop: () => {
      Reflect.deleteProperty(engine, "runKernel");
    },
  };
}
