import { type ConstantData, replayKernel, restoreConstant } from "@remat/dispatch-hook";
import type { DataId } from "@tensorflow/tfjs-core";
import type { Recipe, StoredBuffer, StoredData } from "./stored-data.js";

/**
 * Runs recipes again, so that what is gone is there.
 *
 * @internal
 */
export class Replays {
  /** How many kernels have run again. */
  count = 0;
  /** True while one does, whose ops are none of the user's. */
  isRunning = false;

  /** @param replaying a kernel is about to run again, for which there must be room */
  constructor(private readonly replaying: (recipe: Recipe) => void) {}

  /** Runs a recipe again, whose sources must be there, for those of its outputs that are gone, and the views of these. */
  run(recipe: Recipe): void {
    if (recipe.constant !== undefined) {
      this.restore(recipe.outputs[0], recipe.constant);
      return;
    }
    const into = recipe.outputs.map((data) => (data?.buffer.isEvicted === true ? data : undefined));
    for (const { buffer } of recipe.sources) buffer.locks++;
    try {
      this.replaying(recipe);
      this.runKernel(
        recipe,
        into.map((data) => data?.dataId),
      );
    } finally {
      for (const { buffer } of recipe.sources) buffer.locks--;
    }
    for (const data of into) if (data !== undefined) this.renewViews(data.buffer);
  }

  private runKernel(recipe: Recipe, into: readonly (DataId | undefined)[]): void {
    this.count++;
    const around = this.isRunning;
    this.isRunning = true;
    try {
      replayKernel(recipe, into);
    } finally {
      this.isRunning = around;
    }
  }

  private restore(data: StoredData | undefined, constant: ConstantData): void {
    if (data === undefined) return;
    restoreConstant(data.dataId, constant);
    this.renewViews(data.buffer);
  }

  private renewViews(buffer: StoredBuffer): void {
    const renewed = new Set<Recipe>();
    for (const { maker } of buffer.data) {
      if (maker?.isView !== true || renewed.has(maker)) continue;
      renewed.add(maker);
      this.runKernel(
        maker,
        maker.outputs.map((data) => (data?.buffer === buffer ? data.dataId : undefined)),
      );
    }
  }
}
