import type { Storage } from "@remat/dispatch-hook";
import { MemoryMeter } from "../memory-meter.js";
import type { OpSequence } from "../plan/op-sequence.js";
import type { RoomyPass } from "./released-pass.js";

/**
 * Counts the memory of a pass with early release alone, although an executor also keeps buffers that only recipes need.
 * Open it when the pass begins.
 *
 * @internal
 */
export class ReleasedMeter extends MemoryMeter {
  /** True if the count is no longer needed. */
  isDozing = false;
  private readonly startBytes: number;
  private betweenBytes: number;

  /** @param meter the meter that has counted so far */
  constructor(meter: MemoryMeter) {
    super(meter);
    this.startBytes = this.betweenBytes = meter.liveBytes;
  }

  opOver(): void {
    if (this.liveBytes > this.betweenBytes) this.betweenBytes = this.liveBytes;
  }

  /** Early release would have freed a buffer that only recipes need. */
  bufferUnused(storage: Storage | undefined): void {
    if (storage !== undefined) this.storageReleased(storage);
  }

  /** Peak memory in bytes beyond the data that existed when the pass began. */
  get addedBytes(): number {
    return this.peakBytes - this.startBytes - this.foundBytes;
  }

  /** Returns the memory figures of a pass with these ops. */
  roomyPass(ops: OpSequence): RoomyPass {
    const addedBetweenBytes = Math.max(0, this.betweenBytes - this.startBytes - this.foundBytes);
    return { ops, addedBytes: this.addedBytes, addedBetweenBytes };
  }

  /** Evicted data would stay in memory under early release alone. */
  override storageResized(): void {}

  protected override isThere(): boolean {
    return true;
  }
}
