import { elementsOf } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { type OpCall, sumBytes, type TensorType } from "../op-call.js";
import { CannotRun } from "./cannot-run.js";
import { inputValues } from "./input-values.js";
import { inputNamesOf } from "./kernel-inputs.js";

/** The memory that a sample of repeated calls may allocate before its outputs are released, in bytes. */
const sampleBytes = 64 * 2 ** 20;

/**
 * One kernel call with its own inputs, run directly from the kernel registry of the current backend. Neither the tape
 * nor a dispatch mode sees it. Dispose of it afterwards.
 *
 * @internal
 */
export class IsolatedCall {
  /** Maximum number of repetitions of the call before its outputs are released. */
  readonly maxRepeats: number;
  private readonly call: OpCall;
  private readonly backend = tf.backend();
  private readonly kernelFunc: tf.KernelFunc;
  private readonly made: tf.Tensor[] = [];
  private readonly inputs: tf.NamedTensorInfoMap;
  private readonly attrs: tf.NamedAttrMap;
  private readonly asynchronous: boolean;
  private settleMs = 0;

  /** @throws CannotRun */
  constructor(call: OpCall, { asynchronous }: { readonly asynchronous: boolean }) {
    const kernel = tf.getKernel(call.name, tf.getBackend());
    if (kernel === undefined) throw new CannotRun(`backend '${tf.getBackend()}' does not have it`);
    this.call = call;
    this.kernelFunc = kernel.kernelFunc;
    this.attrs = kernelAttributes(call.attributes ?? {});
    this.asynchronous = asynchronous;
    this.maxRepeats = Math.max(1, Math.min(1000, Math.floor(sampleBytes / Math.max(1, sumBytes(call.outputs)))));
    try {
      this.inputs = this.makeInputs();
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** Runs the call once and compares its outputs with the trace, then measures the cost of waiting. */
  async prepare(): Promise<void> {
    const outputs = this.issue(1);
    try {
      // Backends differ in some dtypes. Other shapes mean that they depend on the data.
      const found = JSON.stringify(outputs.map(({ shape }) => shape));
      const expected = JSON.stringify(this.call.outputs.map(({ shape }) => shape));
      if (found !== expected)
        throw new CannotRun(`it made outputs of the shapes ${found} where the trace has ${expected}`);
      if (!this.asynchronous) return;
      const waits: number[] = [];
      for (let i = 0; i < 4; i++) {
        const start = performance.now();
        await this.settle(outputs);
        waits.push(performance.now() - start);
      }
      // The first one also waits for the call itself.
      this.settleMs = Math.min(...waits.slice(1));
    } finally {
      this.release(outputs);
    }
  }

  /** Returns the time of `repeats` calls in milliseconds, until their results are ready. */
  async sample(repeats: number): Promise<number> {
    let outputs: tf.TensorInfo[] = [];
    const start = performance.now();
    outputs = this.issue(repeats);
    if (this.asynchronous) await this.settle(outputs);
    const ms = performance.now() - start;
    this.release(outputs);
    return Math.max(0, ms - this.settleMs);
  }

  dispose(): void {
    for (const tensor of this.made) tensor.dispose();
    this.made.length = 0;
  }

  private issue(repeats: number): tf.TensorInfo[] {
    const outputs: tf.TensorInfo[] = [];
    const { inputs, attrs, backend } = this;
    // Some kernels call ops of TensorFlow.js and leave tensors behind.
    tf.tidy(() => {
      for (let i = 0; i < repeats; i++) {
        const made = this.kernelFunc({ inputs, attrs, backend });
        if (Array.isArray(made)) outputs.push(...made);
        else outputs.push(made);
      }
      return outputs.filter((output) => output instanceof tf.Tensor);
    });
    return outputs;
  }

  private release(outputs: readonly tf.TensorInfo[]): void {
    for (const output of outputs)
      if (output instanceof tf.Tensor) output.dispose();
      else this.backend.disposeData(output.dataId);
  }

  /** Waits until the last output is computed, by reading one element of it. Backends run kernels in order. */
  private async settle(outputs: readonly tf.TensorInfo[]): Promise<void> {
    const last = outputs.at(-1);
    if (last === undefined || elementsOf(last.shape) === 0) return;
    const slice = last.dtype === "complex64" ? undefined : tf.getKernel("Slice", tf.getBackend());
    if (slice === undefined) {
      await this.backend.read(last.dataId);
      return;
    }
    const attrs = { begin: last.shape.map(() => 0), size: last.shape.map(() => 1) };
    const element = slice.kernelFunc({ inputs: { x: last }, attrs, backend: this.backend }) as tf.TensorInfo;
    await this.backend.read(element.dataId);
    this.release([element]);
  }

  private makeInputs(): tf.NamedTensorInfoMap {
    const { call } = this;
    const names = inputNamesOf(call.name, call.inputs.length, call.attributes?.["activation"]);
    if (names === "list")
      return call.inputs.map((type) => this.makeInput("", type)) as unknown as tf.NamedTensorInfoMap;
    return Object.fromEntries(call.inputs.map((type, i) => [names[i], this.makeInput(names[i], type)]));
  }

  private makeInput(name: string, type: TensorType): tf.Tensor {
    const shape = [...type.shape];
    if (type.dtype === "complex64") {
      const part = () => this.keep(tf.tensor(this.values(name, { dtype: "float32", shape }), shape, "float32"));
      return this.keep(tf.complex(part(), part()));
    }
    return this.keep(tf.tensor(this.values(name, type), shape, type.dtype as tf.DataType));
  }

  private values(name: string, type: TensorType): tf.TypedArray {
    const values = inputValues(this.call, name, type);
    if (values === undefined) throw new CannotRun(`values of dtype ${type.dtype} cannot be made up`);
    return values;
  }

  private keep(tensor: tf.Tensor): tf.Tensor {
    this.made.push(tensor);
    return tensor;
  }
}

/** Restores the kernel's attributes. A trace stores numbers that JSON lacks as text. */
function kernelAttributes(recorded: Readonly<Record<string, unknown>>): tf.NamedAttrMap {
  const numbers: Readonly<Record<string, number>> = { Infinity, "-Infinity": -Infinity, NaN: Number.NaN };
  const decode = (value: unknown) =>
    typeof value === "string" && Object.hasOwn(numbers, value) ? numbers[value] : value;
  return Object.fromEntries(Object.entries(recorded).map(([name, value]) => [name, decode(value)])) as tf.NamedAttrMap;
}
