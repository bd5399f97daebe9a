import type { UpdateCall } from "@remat/dispatch-hook";
import type { MemoryMeter } from "../memory-meter.js";
import { stockUpdate } from "../update/rehearse-update.js";

/**
 * Predicts the memory of unmodified TensorFlow.js in weight updates, where its peak may be. An update is rehearsed
 * after a measured pass. Later updates of the same kind add its temporaries to the bytes alive at that time, which
 * include slots of other optimizers.
 *
 * @internal
 */
export class StockUpdates {
  /** Baseline peak of the last measured pass, until its update is known. */
  private passBytes = 0;
  /** Temporaries of an update in bytes, by optimizer and by the key of the gradients of the pass before. */
  private readonly temporaries = new WeakMap<object, Map<string, number>>();

  passMeasured(peakBytes: number): void {
    this.passBytes = peakBytes;
  }

  /**
   * Returns the baseline peak of the coming update in bytes, including the pass before it if that was measured.
   * Undefined if unknown.
   */
  comingBytes(call: UpdateCall, asked: string, meter: MemoryMeter): number | undefined {
    const known = this.temporaries.get(call.optimizer) ?? new Map<string, number>();
    const { passBytes } = this;
    if (passBytes === 0) {
      const bytes = known.get(asked);
      return bytes === undefined ? undefined : meter.liveBytes + bytes;
    }
    const { mostBytes, slotBytes } = call.isTfjs ? stockUpdate(call, meter) : { mostBytes: 0, slotBytes: 0 };
    this.passBytes = 0;
    this.temporaries.set(call.optimizer, known.set(asked, mostBytes - slotBytes));
    return Math.max(passBytes + slotBytes, meter.liveBytes + mostBytes);
  }
}
