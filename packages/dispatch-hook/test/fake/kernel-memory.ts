import { type OpDone, type Storage, storagesOf, withDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs";
import type { KernelCase } from "../kernels/generators/kernel-case.js";
import { runCase } from "./run-case.js";

/** Memory that the hook sees while one kernel runs. */
export interface KernelMemory {
  /**
   * `+bytes #n` and `-bytes #n` in order, then shape, dtype and storage of each result. Storages of zero bytes are left
   * out.
   */
  readonly events: readonly string[];
  /** True if anything was allocated that is not part of a result, or anything was released. */
  readonly scratch: boolean;
  /** True if every new result is as large as its shape says. Some kernels of the cpu backend return less. */
  readonly wellFormed: boolean;
  readonly error: unknown;
}

const sizeOf = (tensor: tf.Tensor): number => tensor.size * tf.util.bytesPerElement(tensor.dtype);

export function kernelMemory(kernel: string, kernelCase: KernelCase): KernelMemory {
  const numbers = new Map<Storage, number>();
  const numberOf = (storage: Storage): number => {
    let number = numbers.get(storage);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(storage, number);
    }
    return number;
  };
  let inKernel = false;
  let events: string[] = [];
  let allocated: Storage[] = [];
  let scratch = false;
  let wellFormed = true;
  const finish = ({ outputs, inputTensors }: OpDone): void => {
    inKernel = false;
    const results = outputs.flatMap((output) => storagesOf(output));
    const given = new Set(inputTensors.flatMap((input) => storagesOf(input)));
    scratch ||= allocated.some((storage) => !results.includes(storage));
    wellFormed = outputs.every((output) => {
      const storages = storagesOf(output);
      const bytes = storages.reduce((sum, storage) => sum + storage.bytes, 0);
      return output.size > 0 && (storages.some((storage) => given.has(storage)) || bytes === sizeOf(output));
    });
    for (const output of outputs)
      events.push(
        `${output.dtype}[${output.shape}] in ${storagesOf(output).map((storage) => `#${numberOf(storage)}`)}`,
      );
  };
  let error: unknown;
  withDispatchMode(
    {
      opStarting(op) {
        if (op.kernel !== kernel) return;
        inKernel = true;
        events = [];
        allocated = [];
      },
      opDone(op) {
        if (inKernel) finish(op);
      },
      opFailed() {
        inKernel = false;
      },
      storageAllocated(storage) {
        if (storage.bytes === 0) return;
        const number = numberOf(storage);
        if (!inKernel) return;
        allocated.push(storage);
        events.push(`+${storage.bytes} #${number}`);
      },
      storageReleased(storage) {
        if (storage.bytes === 0 || !inKernel) return;
        scratch = true;
        events.push(`-${storage.bytes} #${numberOf(storage)}`);
      },
    },
    () => {
      error = runCase(kernel, kernelCase).error;
    },
  );
  return { events, scratch, wellFormed, error };
}
