import type { OpDone, Storage, StorageOrigin } from "./engine-records.js";

/**
 * The five events that most observers need: ops, memory, phases and optimizer steps. All are optional. An observer must
 * not run ops.
 *
 * @example
 * // How far memory rises in each training step, in bytes above the level at which the observer was opened.
 * class PeakPerStep implements StepObserver {
 *   readonly peaks: number[] = [];
 *   private liveBytes = 0;
 *   private peakBytes = 0;
 *
 *   storageAllocated({ bytes }: Storage): void {
 *     this.liveBytes += bytes;
 *     this.peakBytes = Math.max(this.peakBytes, this.liveBytes);
 *   }
 *
 *   storageReleased({ bytes }: Storage): void {
 *     this.liveBytes -= bytes;
 *   }
 *
 *   optimizerStepDone(): void {
 *     this.peaks.push(this.peakBytes);
 *     this.peakBytes = this.liveBytes;
 *   }
 * }
 *
 * const observer = new PeakPerStep();
 * await withDispatchMode(observer, () => model.fit(x, y));
 */
export interface StepObserver {
  /** An op has run. Autograd has not yet saved its tensors. */
  opDone?(op: OpDone): void;
  /** A storage was allocated. */
  storageAllocated?(storage: Storage, origin: StorageOrigin): void;
  /** The last `DataId` of the storage is gone. Every mode is notified, no matter which code freed the storage. */
  storageReleased?(storage: Storage): void;
  /**
   * The forward pass, the backward pass or the update begins or ends. The arguments are values of `Phase` of
   * `@remat/trace`.
   */
  phaseChanged?(phase: number, before: number): void;
  /** `minimize` or `applyGradients` has updated the weights. */
  optimizerStepDone?(optimizer: object): void;
}
