import { type DispatchMode, type OpDone, storagesOf, withDispatchMode } from "@remat/dispatch-hook";
import { isRepeatable } from "@remat/dispatch-hook/backends";
import { evictData, type KernelRecipe, replayKernel } from "@remat/dispatch-hook/residency";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-webgl";
import "@tensorflow/tfjs-backend-webgpu";
import { kernelExamples } from "../../../packages/runtime-estimator/test/benchmark/kernel-examples.js";

/** What came of evicting and recomputing what kernels have made. */
export interface Replayed {
  /** Those whose outputs were recomputed. */
  readonly kernels: readonly string[];
  /** Those that gave other bits. */
  readonly differing: readonly string[];
  /** Those that were run in JavaScript, and are held. */
  readonly onHost: readonly string[];
  /** Those that add in whichever order their threads come, and are held. */
  readonly inAnyOrder: readonly string[];
  /** What the backend has besides. */
  readonly untried: readonly string[];
  /** What examples the backend has refused. */
  readonly refused: readonly string[];
}

/** Runs an example of each kernel on a backend, evicts what it has made, recomputes it and compares. `usesHost`: whether small tensors may be computed with in JavaScript. */
export async function replayKernels(backend: string, usesHost: boolean): Promise<Replayed> {
  await tf.setBackend(backend);
  const flag = backend === "webgl" ? "WEBGL_CPU_FORWARD" : "WEBGPU_CPU_FORWARD";
  const before = tf.env().getBool(flag);
  tf.env().set(flag, usesHost);
  const instance = tf.backend();
  // WebGPU reads at once through a canvas, which Chromium's software device does not survive.
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

/** Few rows and columns over many elements, which webgpu shares out among threads. */
const longProduct = (): tf.Tensor => tf.matMul(tf.ones([16, 4096]), tf.ones([4096, 16]));

/** What a kernel has made, and what it has made when it was replayed. */
interface Pair {
  readonly kernel: string;
  readonly made: tf.Tensor;
  readonly again: tf.Tensor;
}

let isReplaying = false;

/** Replays an op into data that was evicted; both are read later, since WebGPU gives values in a later turn. */
function replayOne({ kernel, inputs, attributes, inputTensors, outputs }: OpDone): readonly Pair[] {
  // With the parts of complex tensors.
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

/** Without those that are optional, and not given. */
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
