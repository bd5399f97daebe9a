import { applyPlan, releaseEarly } from "@remat/checkpoint";
import { findBackend } from "@remat/dispatch-hook/backends";
import { heldPeak } from "@remat/memory";
import { unrecomputedPeakBytes } from "@remat/memory/sequence";
import { planCheckpointing } from "@remat/planner";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Plan, Trace } from "@remat/trace";
import { stepToPlan, traceFakeStep, traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-webgl";
import "@tensorflow/tfjs-backend-webgpu";
import { layers, sequential } from "@tensorflow/tfjs-layers";
import { memoryOf, record } from "remat";

/** A step measured on a GPU. */
export interface StepOnGpu {
  /**
   * After each kernel, the increase in bytes in use, allocated, and kept for reuse, as `tf.memory()` reports them:
   * `MatMul 1024 2048 1024`.
   */
  readonly afterKernels: readonly string[];
  /** The highest of them. */
  readonly mostBytes: number;
  /** The peak of the step's trace, by buffer. */
  readonly peakBytes: number;
  /** The predicted peak of its plan, if it has one, and any mismatch with it. */
  readonly plannedPeakBytes: number | undefined;
  readonly mismatch: unknown;
  readonly recomputedOps: number | undefined;
}

export type Way = "stock" | "early release" | "plan";

const plans = { webgl: new Map<unknown, Plan>(), webgpu: new Map<unknown, Plan>() };

/** A plan for less than early release uses. It is the same for the real step and the fake one, and in every page. */
async function planFor(backend: "webgl" | "webgpu", exported: unknown): Promise<Plan> {
  const known = plans[backend].get(exported);
  if (known !== undefined) return known;
  const trace = priceTrace(
    await traceFakeStep(exported, { ...options, ...stepToPlan, backend }),
    deviceSpec(defaultDeviceHere),
  );
  const planWithin = (budgetBytes: number) =>
    planCheckpointing(trace, { budgetBytes, iterations: 500, boundTimeMs: 0 });
  let { point, infeasible } = await planWithin(Math.floor(0.9 * unrecomputedPeakBytes(trace)));
  if (infeasible !== undefined) ({ point, infeasible } = await planWithin(infeasible.smallestFoundBytes));
  if (point === undefined) throw new Error(`no plan: ${JSON.stringify(infeasible)}`);
  plans[backend].set(exported, point.plan);
  return point.plan;
}

const options = { size: "tiny", optimizer: "adam" } as const;

/** Runs a step of a model module on a backend, or on one without its device. */
export async function takeStep(
  backend: "webgl" | "webgpu",
  exported: unknown,
  isFake: boolean,
  way: Way,
): Promise<StepOnGpu> {
  await tf.setBackend(backend);
  await tf.ready();
  // Simulates a device that keeps no freed memory and waits for nothing, since webgpu's upload staging and submission
  // depend on that.
  const { freedMemory } = findBackend(backend);
  freedMemory?.trim(tf.backend(), 0);
  const plan = way === "plan" ? await planFor(backend, exported) : undefined;
  const planned = plan && applyPlan(plan);
  const stop = way === "early release" ? releaseEarly() : () => planned?.close();
  const watched = watchKernels();
  let trace: Trace;
  try {
    trace = isFake ? await traceFakeStep(exported, { ...options, backend }) : await traceStep(exported, options);
  } finally {
    watched.stop();
    stop();
  }
  return {
    ...watched.found(isFake),
    peakBytes: heldPeak(trace).peakBytes,
    plannedPeakBytes: plan?.predicted.peakBytes,
    mismatch: planned?.lastStep?.mismatch,
    recomputedOps: planned?.lastStep?.recomputedOps,
  };
}

/** Returns the backend that a model's step is predicted for, the predicted peak, and the peak of a real step. */
export async function tellMemory(
  backend: "webgl" | "webgpu",
): Promise<{ readonly device: string; readonly told: number; readonly taken: number }> {
  await tf.setBackend(backend);
  const model = sequential({
    layers: [
      layers.conv2d({ inputShape: [12, 12, 3], filters: 8, kernelSize: 3, activation: "relu" }),
      layers.flatten(),
      layers.dense({ units: 4 }),
    ],
  });
  model.compile({ optimizer: "adam", loss: "meanSquaredError" });
  const { peakBytes, trace } = await memoryOf(model, { batch: 8 });
  const [x, y] = [tf.randomNormal([8, 12, 12, 3]), tf.randomNormal([8, 4])];
  const taken = heldPeak(await record(() => model.trainOnBatch(x, y), { model })).peakBytes;
  tf.dispose([x, y]);
  model.optimizer.dispose();
  model.dispose();
  return { device: trace.header.device, told: peakBytes, taken };
}

/**
 * Bytes in use, allocated, and freed but kept. Each backend has other names for them, and webgpu does not report the
 * last one.
 */
function bytesInGpu(): readonly number[] {
  const {
    numBytesInGPU: used = 0,
    numBytesInGPUAllocated,
    numBytesAllocatedInGPU,
    numBytesInGPUFree,
  } = tf.memory() as tf.MemoryInfo & Readonly<Record<string, number | undefined>>;
  const allocated = numBytesInGPUAllocated ?? numBytesAllocatedInGPU ?? used;
  return [used, allocated, numBytesInGPUFree ?? allocated - used];
}

function watchKernels(): { found(isFake: boolean): Pick<StepOnGpu, "afterKernels" | "mostBytes">; stop(): void } {
  const engine = tf.engine();
  const { runKernel } = engine;
  const before = bytesInGpu();
  let instance: object | undefined;
  const kernels: string[] = [];
  const bytes: (readonly number[])[] = [];
  engine.runKernel = function (this: typeof engine, ...args: Parameters<typeof runKernel>) {
    const result = runKernel.apply(this, args);
    // Excludes kernels of a rehearsed update, which runs on a separate instance.
    instance ??= engine.backend;
    if (engine.backend !== instance) return result;
    kernels.push(args[0]);
    bytes.push(bytesInGpu());
    return result;
  } as typeof runKernel;
  return {
    found(isFake) {
      const beyond = bytes.map((each) => each.map((count, i) => count - (isFake ? 0 : before[i])));
      return {
        afterKernels: kernels.map((kernel, i) => `${kernel} ${beyond[i].join(" ")}`),
        mostBytes: Math.max(...beyond.map(([used]) => used)),
      };
    },
    stop: () => {
      Reflect.deleteProperty(engine, "runKernel");
    },
  };
}
