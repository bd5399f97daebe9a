import { Category, row, type StorageIndex, type Trace } from "@remat/trace";

/**
 * Finds calls that read a tensor from outside that is not a weight: an input of the step, or the result of an earlier
 * op. A function in TensorFlow.js reads such tensors from its closure, so the recorded call does not list them.
 *
 * @internal
 */
export class OutsideTensors {
  private readonly trace: Trace;
  /** The op that made each storage, or -1. */
  private readonly maker: Int32Array;
  private readonly isWeight: Uint8Array;

  constructor(trace: Trace) {
    const { storages, weights, ops } = trace;
    this.trace = trace;
    this.maker = new Int32Array(storages.count).fill(-1);
    this.isWeight = new Uint8Array(storages.count);
    for (let op = ops.count - 1; op >= 0; op--)
      for (const tensor of trace.opOutputs(op))
        for (const storage of trace.tensorStorages(tensor)) this.maker[storage] = op;
    for (let i = 0; i < weights.count; i++)
      for (const rows of [weights.parameters, weights.buffers])
        for (const tensor of row(rows, i))
          for (const storage of trace.tensorStorages(tensor)) this.isWeight[storage] = 1;
  }

  /** True if an op from `first` up to, but not including, `end` reads such a tensor. */
  areReadBy(first: number, end: number): boolean {
    for (let op = first; op < end; op++)
      for (const tensor of this.trace.opInputs(op))
        for (const storage of this.trace.tensorStorages(tensor)) if (this.isGiven(storage, first)) return true;
    return false;
  }

  private isGiven(storage: StorageIndex, first: number): boolean {
    if (this.isWeight[storage] === 1) return false;
    const maker = this.maker[storage];
    return maker < 0 ? this.trace.storages.category[storage] === Category.input : maker < first;
  }
}
