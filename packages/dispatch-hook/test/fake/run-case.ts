import * as tf from "@tensorflow/tfjs";
import type { KernelCase, TensorSpec } from "../kernels/generators/kernel-case.js";

/** Result of a kernel. */
export interface Outcome {
  readonly outputs?: readonly {
    readonly shape: readonly number[];
    readonly dtype: string;
    /** The input whose data id it has, if any. */
    readonly on: string | undefined;
    readonly refCount: number;
  }[];
  readonly error?: unknown;
}

function makeTensor({ shape, dtype, values }: TensorSpec): tf.Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const filled =
    values ?? Array.from({ length: size }, (_, i) => (dtype === "string" ? "a" : i % (dtype === "bool" ? 2 : 3)));
  if (dtype !== "complex64") return tf.tensor(filled as number[], [...shape], dtype);
  const part = (): tf.Tensor => tf.tensor(filled as number[], [...shape], "float32");
  return tf.complex(part(), part());
}

/** Runs one kernel on the current backend. */
export function runCase(kernel: string, { inputs, attributes }: KernelCase): Outcome {
  const engine = tf.engine();
  engine.startScope();
  try {
    const make = (spec: TensorSpec | readonly TensorSpec[]) =>
      Array.isArray(spec) ? spec.map(makeTensor) : makeTensor(spec as TensorSpec);
    const tensors = Array.isArray(inputs)
      ? inputs.map(makeTensor)
      : Object.fromEntries(Object.entries(inputs).map(([name, spec]) => [name, make(spec as TensorSpec)]));
    const copied = structuredCloneOf(attributes);
    const result = engine.runKernel(kernel, tensors as tf.NamedTensorMap, copied as never) as tf.Tensor | tf.Tensor[];
    const outputs = (Array.isArray(result) ? result : [result]).map(({ shape, dtype, dataId }) => ({
      shape,
      dtype,
      on: Object.entries(tensors).find(([, input]) => (input as tf.Tensor).dataId === dataId)?.[0],
      refCount: engine.backend.refCount(dataId),
    }));
    return { outputs };
  } catch (error) {
    return { error };
  } finally {
    engine.endScope();
  }
}

/** Runs one kernel on the current backend; returns the names of the inputs that then hold other values, none where it throws. */
export function writtenInputs(kernel: string, { inputs, attributes }: KernelCase): string[] {
  const engine = tf.engine();
  engine.startScope();
  try {
    const of = (spec: TensorSpec | readonly TensorSpec[]) =>
      Array.isArray(spec) ? spec.map(makeTensor) : [makeTensor(spec as TensorSpec)];
    const tensors = Object.entries(inputs).map(([name, spec]) => ({ name, tensors: of(spec as TensorSpec), spec }));
    const given = Object.fromEntries(
      tensors.map(({ name, tensors, spec }) => [name, Array.isArray(spec) ? tensors : tensors[0]]),
    );
    const values = () =>
      tensors.map(({ tensors }) => JSON.stringify(tensors.map((each) => Array.from(each.dataSync() as Float32Array))));
    const before = values();
    engine.runKernel(
      kernel,
      (Array.isArray(inputs) ? Object.values(given) : given) as never,
      structuredCloneOf(attributes) as never,
    );
    return values().flatMap((after, i) => (after === before[i] ? [] : [tensors[i].name]));
  } catch {
    return [];
  } finally {
    engine.endScope();
  }
}

/** SplitV and others write into their attributes. */
function structuredCloneOf(attributes: object | undefined): object | undefined {
  return attributes && "canvas" in attributes ? attributes : structuredClone(attributes);
}
