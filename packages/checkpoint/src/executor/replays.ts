import { replayKernel, restoreConstant } from "@remat/dispatch-hook/residency";
import type { Recipe, StoredData } from "./stored-data.js";
import { isVerifying, replayAgain } from "./verify-replays.js";

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

  /** Runs a recipe again, whose sources' buffers must be there, for those of its outputs that are gone. */
  run(recipe: Recipe): void {
    if (recipe.constant !== undefined) {
      const [data] = recipe.outputs;
      if (data !== undefined) restoreConstant(data.dataId, recipe.constant);
      return;
    }
    for (const { buffer } of recipe.sources) buffer.locks++;
    try {
      for (const source of recipe.sources) this.renew(source);
      this.replaying(recipe);
      this.runKernel(recipe);
    } finally {
      for (const { buffer } of recipe.sources) buffer.locks--;
    }
  }

  /** Makes a view anew whose buffer is back, if it has not been since. */
  renew(data: StoredData): void {
    if (!data.isStale) return;
    const { maker } = data;
    if (maker !== undefined) this.run(maker);
  }

  private runKernel(recipe: Recipe): void {
    const into = recipe.outputs.map((data) => (data?.isGone === true ? data : undefined));
    const dataIds = into.map((data) => data?.dataId);
    this.count++;
    const around = this.isRunning;
    this.isRunning = true;
    try {
      replayKernel(recipe, dataIds);
      if (isVerifying() && !recipe.isView) replayAgain(recipe, dataIds);
    } finally {
      this.isRunning = around;
    }
    for (const data of into) if (data !== undefined) data.isStale = false;
  }
}
