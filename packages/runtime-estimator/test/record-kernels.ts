import * as tf from "@tensorflow/tfjs";
import type { OpCall, TensorType } from "../src/index.js";

/** A kernel call with what it was given and what it made, values included. */
export interface RecordedCall extends OpCall {
  /** Names of the inputs in the order given, without those that were absent; indices where they came as a list. */
  readonly inputNames: readonly string[];
  readonly values: { readonly inputs: readonly Float32Array[]; readonly outputs: readonly Float32Array[] };
}

/** The pure JavaScript backend, without its advice to install another. */
export async function useCpu(): Promise<void> {
  await tf.setBackend("cpu");
  const isTest = tf.env().getBool("IS_TEST");
  tf.env().set("IS_TEST", true);
  // It gives it as it takes its first values.
  tf.zeros([1]).dispose();
  tf.env().set("IS_TEST", isTest);
}

/** Runs `body` on the cpu backend and returns the registered kernels that it ran. */
export function recordKernels(body: () => void): RecordedCall[] {
  const calls: RecordedCall[] = [];
  const kernels = tf.getKernelsForBackend("cpu");
  const replace = (kernelFunc: (config: tf.KernelConfig) => tf.KernelFunc) => {
    for (const config of kernels) {
      tf.unregisterKernel(config.kernelName, "cpu");
      tf.registerKernel({ ...config, kernelFunc: kernelFunc(config) });
    }
  };
  const type = ({ dtype, shape }: tf.TensorInfo): TensorType => ({ dtype, shape });
  const values = ({ dataId }: tf.TensorInfo) => {
    const { values = new Float32Array(0) } =
      (tf.backend() as unknown as { data: Map<object, { values?: Float32Array }> }).data.get(dataId) ?? {};
    return Float32Array.from(values);
  };
  replace(({ kernelName, kernelFunc }) => (params) => {
    const given = Object.entries(params.inputs as Record<string, tf.TensorInfo | undefined>);
    const present = given.filter((entry): entry is [string, tf.TensorInfo] => entry[1] != null);
    const inputs = present.map(([, input]) => input);
    const inputValues = inputs.map(values);
    const made = kernelFunc(params);
    const outputs = Array.isArray(made) ? made : [made];
    calls.push({
      name: kernelName,
      inputs: inputs.map(type),
      outputs: outputs.map(type),
      attributes: { ...params.attrs },
      inputNames: present.map(([name]) => name),
      values: { inputs: inputValues, outputs: outputs.map(values) },
    });
    return made;
  });
  try {
    tf.tidy(() => {
      body();
    });
  } finally {
    replace(({ kernelFunc }) => kernelFunc);
  }
  return calls;
}
