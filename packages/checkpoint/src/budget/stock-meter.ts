import { type InputGradient, type SavedTensor, type Storage, storagesOf, type TapeNode } from "@remat/dispatch-hook";
import { isFreeingEarly } from "@remat/dispatch-hook/release";
import type { Tensor } from "@tensorflow/tfjs-core";
import { ReleasedMeter } from "./released-meter.js";

/**
 * Counts the memory that unmodified TensorFlow.js would use in a pass that releases early. Unmodified TensorFlow.js
 * keeps saved tensors and gradients to the end. The exception is a gradient that is added to another one and shares no
 * data with it. Open it when the pass begins.
 *
 * @internal
 */
export class StockMeter extends ReleasedMeter {
  /** Storages that stay until the end. */
  private readonly keptToEnd = new Set<Storage>();
  private readonly gradientOn = new Map<Storage, Tensor>();

  tensorsSaved(saved: readonly SavedTensor[]): void {
    for (const { clone } of saved) for (const storage of storagesOf(clone)) this.keptToEnd.add(storage);
  }

  backwardNodeEntered(_node: TapeNode, dys: readonly (Tensor | undefined)[]): void {
    for (const dy of dys) if (dy != null) this.noteGradient(dy);
  }

  backwardNodeExited(_node: TapeNode, gradients: readonly InputGradient[]): void {
    for (const { gradient } of gradients) this.noteGradient(gradient);
  }

  override storageReleased(storage: Storage): void {
    if (!isFreeingEarly() && !this.keptToEnd.has(storage)) super.storageReleased(storage);
  }

  private noteGradient(gradient: Tensor): void {
    for (const storage of storagesOf(gradient)) {
      const before = this.gradientOn.get(storage);
      if (before === undefined) this.gradientOn.set(storage, gradient);
      else if (before !== gradient) this.keptToEnd.add(storage);
    }
  }
}
