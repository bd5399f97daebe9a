import type { UpdateCall } from "@remat/dispatch-hook";
import type { MemoryMeter } from "../memory-meter.js";
import { stockUpdate } from "../update/rehearse-update.js";

/**
 * Knows what stock holds in updates of the weights, in which its peak may be. An update is rehearsed after a pass that was measured; later ones of its kind add its temporaries to what is
 * alive then, slots of other optimizers among it.
 *
 * @internal
 */
export class StockUpdates {
  /** Stock's, of the last pass that was measured, until the update after it is known. */
  private passBytes = 0;
  /** What stock makes besides in an update, by optimizer and by the gradients that the pass before was asked for. */
  private readonly temporaries = new WeakMap<object, Map<string, number>>();

  passMeasured(peakBytes: number): void {
    this.passBytes = peakBytes;
  }

  /** Returns the most bytes that stock holds with the update to come, and in the pass before it if that was measured; undefined where this is not known. */
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
