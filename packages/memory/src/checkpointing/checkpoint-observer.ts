/**
 * Receives the events of a simulated run. Storages are identified by number. A storage has a new instance each time it
 * is created, in the forward pass or by recomputation. @internal
 */
import type { CallIndex, OpIndex, StorageIndex } from "@remat/trace";
export interface CheckpointObserver {
  made(storage: StorageIndex, instance: number): void;
  released(instance: number): void;
  resized(instance: number, bytes: number): void;
  /**
   * @param instances for each storage, the instance that the op reads or has created; for a storage that only autograd
   * keeps, an earlier instance
   */
  ran(op: OpIndex, instances: Int32Array, isReplay: boolean): void;
  saved(save: number, instance: number): void;
  unpacked(save: number): void;
  unsaved(save: number): void;
  entered(call: CallIndex, instances: Int32Array, isReplay: boolean): void;
  exited(call: CallIndex, instances: Int32Array, isReplay: boolean): void;
  /** An event of the trace that does not affect the simulation. */
  passed(event: number, instances: Int32Array): void;
}
