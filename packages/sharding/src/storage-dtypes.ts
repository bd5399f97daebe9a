import { type ModuleIndex, row, type StorageIndex, type TensorIndex, type Trace } from "@remat/trace";
import { elementBytes, isFloatDtype } from "./sharding-plan.js";

/**
 * Stores the facts about the dtypes of storages that a pass over a run has found so far.
 *
 * @internal
 */
export class StorageDtypes {
  readonly lowDtype: string;
  /** 1 for a storage created in the lower dtype. */
  readonly isLow: Uint8Array;
  /** 1 for a storage that is read in the lower dtype inside the root: all-gathered parameters and cast inputs. */
  readonly lowInside: Uint8Array;
  /** 1 for a storage in the lower dtype that is read through a cast to a wider one. */
  readonly widened: Uint8Array;
  /** The stack of the op that created each storage, and that op, or -1 if none exists. */
  readonly madeIn: Int32Array;
  readonly madeBy: Int32Array;
  private readonly trace: Trace;

  constructor(trace: Trace, lowDtype: string) {
    const { count } = trace.storages;
    this.trace = trace;
    this.lowDtype = lowDtype;
    this.isLow = new Uint8Array(count);
    this.lowInside = new Uint8Array(count);
    this.widened = new Uint8Array(count);
    this.madeIn = new Int32Array(count).fill(-1);
    this.madeBy = new Int32Array(count).fill(-1);
  }

  /** Returns whether a tensor was recorded in a wider dtype. */
  isWide(tensor: TensorIndex): boolean {
    const dtype = this.trace.tensorDtype(tensor);
    return isFloatDtype(dtype) && elementBytes(dtype) > elementBytes(this.lowDtype);
  }

  /** Returns whether a storage was created in a call of the module. */
  isMadeIn(storage: StorageIndex, module: ModuleIndex): boolean {
    const { trace } = this;
    const stack = this.madeIn[storage];
    return stack >= 0 && row(trace.stacks, stack).some((call) => trace.calls.module[call] === module);
  }
}
