import type { Storage } from "@remat/dispatch-hook";
import { MemoryMeter } from "../memory-meter.js";
import type { OpSequence } from "../plan/op-sequence.js";
import type { RoomyPass } from "./released-pass.js";

/**
 * Counts what a pass would hold with early release alone, while an executor holds besides what only recipes need. To be opened when the pass begins.
 *
 * @internal
 */
export class ReleasedMeter extends MemoryMeter {
  /** Whether nobody asks any more. */
  isDozing = false;
  private readonly startBytes: number;
  private betweenBytes: number;

  /** @param meter what has counted so far */
  constructor(meter: MemoryMeter) {
    super(meter);
    this.startBytes = this.betweenBytes = meter.liveBytes;
  }

  opOver(): void {
    if (this.liveBytes > this.betweenBytes) this.betweenBytes = this.liveBytes;
  }

  /** Only recipes need it. */
  bufferUnused(storage: Storage | undefined): void {
    if (storage !== undefined) this.storageReleased(storage);
  }

  /** The most bytes beyond what was there when the pass began. */
  get addedBytes(): number {
    return this.peakBytes - this.startBytes - this.foundBytes;
  }

  /** What a pass of these ops holds. */
  roomyPass(ops: OpSequence): RoomyPass {
    const addedBetweenBytes = Math.max(0, this.betweenBytes - this.startBytes - this.foundBytes);
    return { ops, addedBytes: this.addedBytes, addedBetweenBytes };
  }

  /** What is evicted early release would hold. */
  override storageResized(): void {}

  protected override isThere(): boolean {
    return true;
  }
}
