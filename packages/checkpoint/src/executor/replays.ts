import { replayKernel, restoreConstant } from "@remat/dispatch-hook/residency";
import type { Recipe, StoredData } from "./stored-data.js";
import { isVerificationSet, isVerifying, verifyReplay } from "./verify-replays.js";

/** Replays recipes to recompute evicted data. @internal */
export class Replays {
  private readonly replaying: (recipe: Recipe) => void;
  /** Number of replayed kernels. */
  count = 0;
  /** Time for these replays in milliseconds. */
  ms = 0;
  /** True during a replay, whose ops are not the user's. */
  isRunning = false;
  private readonly verifiesAll: boolean = isVerificationSet();

  /** @param replaying called before each replay, which needs memory */
  constructor(replaying: (recipe: Recipe) => void) {
    this.replaying = replaying;
  }

  /** Replays a recipe for those outputs that need it. The buffers of its sources must be in memory. */
  run(recipe: Recipe): void {
    if (recipe.constant !== undefined) {
      const [data] = recipe.outputs;
      this.replaying(recipe);
      if (data !== undefined) restoreConstant(data.dataId, recipe.constant);
      return;
    }
    for (const { buffer } of recipe.sources) buffer.locks++;
    try {
      for (const source of recipe.sources) this.refresh(source);
      this.replaying(recipe);
      this.runKernel(recipe);
    } finally {
      for (const { buffer } of recipe.sources) buffer.locks--;
    }
  }

  /** Refreshes a stale view after its buffer has been recomputed. */
  refresh(data: StoredData): void {
    if (!data.isStale) return;
    const { maker } = data;
    if (maker !== undefined) this.run(maker);
  }

  private runKernel(recipe: Recipe): void {
    const into = recipe.outputs.map((data) => (data?.needsReplay === true ? data : undefined));
    const dataIds = into.map((data) => data?.dataId);
    this.count++;
    const around = this.isRunning;
    this.isRunning = true;
    const startedAt = performance.now();
    try {
      replayKernel(recipe, dataIds);
      if (!around) this.ms += performance.now() - startedAt;
      if ((this.verifiesAll || isVerifying()) && !recipe.isView) verifyReplay(recipe, dataIds);
    } finally {
      this.isRunning = around;
    }
    for (const data of into) if (data !== undefined) data.isStale = false;
  }
}
