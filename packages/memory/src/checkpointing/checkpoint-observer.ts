/** What is told of a run as it happens: storages by number, and each time that one is made, in the forward pass or again, by instance. @internal */
import type { CallIndex, OpIndex, StorageIndex } from "@remat/trace";
export interface CheckpointObserver {
  made(storage: StorageIndex, instance: number): void;
  released(instance: number): void;
  resized(instance: number, bytes: number): void;
  /** `instances`: by storage, what the op reads and has made; of what autograd has saved alone, what came before. */
  ran(op: OpIndex, instances: Int32Array, isReplay: boolean): void;
  saved(save: number, instance: number): void;
  unpacked(save: number): void;
  unsaved(save: number): void;
  entered(call: CallIndex, instances: Int32Array, isReplay: boolean): void;
  exited(call: CallIndex, instances: Int32Array, isReplay: boolean): void;
  /** An event of the trace that the simulation makes nothing of. */
  passed(event: number, instances: Int32Array): void;
}
