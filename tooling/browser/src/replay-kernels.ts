import { type DispatchMode, type OpDone, storagesOf, withDispatchMode } from "@remat/dispatch-hook";
import { isRepeatable } from "@remat/dispatch-hook/backends";
import { evictData, type KernelRecipe, replayKernel } from "@remat/dispatch-hook/residency";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-webgl";
import "@tensorflow/tfjs-backend-webgpu";
import { kernelExamples } from "../../../packages/runtime-estimator/test/benchmark/kernel-examples.js";

/** Result of evicting and recomputing kernel outputs. */
export interface Replayed {
  /** Kernels whose outputs were recomputed. */
  readonly kernels: readonly string[];
  /** Kernels whose recomputed output was not bitwise identical. */
  readonly differing: readonly string[];
  /** Kernels that ran in JavaScript, whose outputs are kept. */
  readonly onHost: readonly string[];
  /** Kernels that add in a non-deterministic order, whose outputs are kept. */
  readonly inAnyOrder: readonly string[];
  /** Kernels of the backend that were not tested. */
  readonly untried: readonly string[];
  /** Examples that the backend rejected. */
  readonly refused: readonly string[];
}

/**
 * Runs an example of each kernel on a backend, evicts its outputs, recomputes them and compares.
 *
 * @param usesHost whether small tensors may be computed in JavaScript
 */
export async function replayKernels(backend: string, usesHost: boolean): Promise<Replayed> {
  await tf.setBackend(backend);
  const flag = backend === "webgl" ? "WEBGL_CPU_FORWARD" : "WEBGPU_CPU_FORWARD";
  const before = tf.env().getBool(flag);
  tf.env().set(flag, usesHost);
  const instance = tf.backend();
  // WebGPU's synchronous read uses a canvas, which crashes Chromium's software device.
  if (backend === "webgpu")
    instance.readSync = () => {
      throw new Error("its values are read at once");
    };
  const kernels = new Set<string>();
  const differing = new Set<string>();
  const onHost = new Set<string>();
  const inAnyOrder = new Set<string>();
  const refused: string[] = [];
  for (const [i, example] of [...kernelExamples, longProduct].entries()) {
    const pairs: Pair[] = [];
    const mode: DispatchMode = {
      opOver(op) {
        if (isReplaying || !isRepeatable(op.kernel, op.backend)) return;
        if (op.isOnHost) onHost.add(op.kernel);
        else if (op.isInAnyOrder) inAnyOrder.add(op.kernel);
        else pairs.push(...replayOne(op));
      },
    };
    try {
      tf.tidy(() => withDispatchMode(mode, () => void example()));
    } catch (error) {
      refused.push(`${i}: ${String((error as Error).message).split("\n")[0]}`);
    }
    for (const { kernel, made, again } of pairs) {
      kernels.add(kernel);
      if (!areEqual(await bitsOf(made), await bitsOf(again))) differing.add(kernel);
      tf.dispose([made, again]);
    }
  }
  tf.env().set(flag, before);
  if (backend === "webgpu") Reflect.deleteProperty(instance, "readSync");
  const seen = new Set([...kernels, ...onHost, ...inAnyOrder]);
  const untried = tf.getKernelsForBackend(backend).map(({ kernelName }) => kernelName);
  return {
    kernels: [...kernels].sort(),
    differing: [...differing].sort(),
    onHost: [...onHost].sort(),
    inAnyOrder: [...inAnyOrder].sort(),
    untried: untried.filter((kernel) => !seen.has(kernel)).sort(),
    refused,
  };
}

/** Few rows and columns over many elements, which webgpu distributes among threads. */
const longProduct = (): tf.Tensor => tf.matMul(tf.ones([16, 4096]), tf.ones([4096, 16]));

/** A kernel's output, and its output when replayed. */
interface Pair {
  readonly kernel: string;
  readonly made: tf.Tensor;
  readonly again: tf.Tensor;
}

let isReplaying = false;

/** Replays an op into evicted data. Both are read later, since WebGPU returns values asynchronously. */
function replayOne({ kernel, inputs, attributes, inputTensors, outputs }: OpDone): readonly Pair[] {
  // Includes the parts of complex tensors.
  const given = new Set(inputTensors.flatMap((input) => storagesOf(input)));
  const isPlain = (output: tf.Tensor) =>
    output.dtype !== "complex64" &&
    output.dtype !== "string" &&
    !storagesOf(output).some((storage) => given.has(storage));
  if (!outputs.some(isPlain)) return [];
  isReplaying = true;
  try {
    const again = outputs.map((output) =>
      isPlain(output) ? tf.keep(tf.zeros(output.shape, output.dtype as "float32")) : undefined,
    );
    const into = again.map((tensor) => tensor?.dataId);
    for (const dataId of into) if (dataId !== undefined) evictData([dataId]);
    replayKernel({ kernel, inputs: presentOf(inputs), attributes }, into);
    return outputs.flatMap((output, i) => {
      const other = again[i];
      return other === undefined ? [] : [{ kernel, made: tf.keep(output.clone()), again: other }];
    });
  } finally {
    isReplaying = false;
  }
}

/** Excludes optional inputs that were not given. */
const presentOf = (inputs: OpDone["inputs"]): KernelRecipe["inputs"] =>
  Array.isArray(inputs)
    ? (inputs as readonly tf.Tensor[])
    : (Object.fromEntries(Object.entries(inputs).filter(([, input]) => input != null)) as Record<string, tf.Tensor>);

const areEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

async function bitsOf(tensor: tf.Tensor): Promise<Uint8Array> {
  const { buffer, byteOffset, byteLength } = (await tensor.data()) as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
