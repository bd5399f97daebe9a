import { RematError } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import type { Recipe, StoredBuffer } from "./stored-data.js";

/** Replays recipes, and evicts and reloads buffers. */
interface RecipeRunner {
  replay(recipe: Recipe): void;
  reload(buffer: StoredBuffer): void;
  evict(buffer: StoredBuffer): void;
}

/**
 * Recomputes a buffer and first everything that this needs, each recipe once, or reloads it from host memory.
 * Intermediate buffers that no tensor uses are evicted after their last reader.
 *
 * @throws RematError `VALUE_GONE` if something is read that a plan has evicted for good
 *
 * @internal
 */
export function recompute(buffer: StoredBuffer, ledger: RecipeRunner): void {
  if (buffer.hostCopy !== undefined) return ledger.reload(buffer);
  const way: { readonly buffer: StoredBuffer; readonly recipe: Recipe }[] = [];
  const recomputed = new Set<StoredBuffer>();
  const { recipes, readers } = recipesBehind(buffer);
  const need = (needed: StoredBuffer) => {
    const recipe = needed.data[0]?.maker;
    if (recipe === undefined) throw evictedForGood(needed);
    for (const source of recipe.sources) source.buffer.locks++;
    way.push({ buffer: needed, recipe });
  };
  const evictUnused = (helper: StoredBuffer) => {
    if (recomputed.has(helper) && !helper.isUsed && helper.isEvictable) ledger.evict(helper);
  };
  try {
    need(buffer);
    for (let next = way.at(-1); next !== undefined; next = way.at(-1)) {
      const { recipe } = next;
      if (next.buffer.isEvicted) {
        for (const source of recipe.sources) {
          if (!source.buffer.isEvicted || source.buffer.hostCopy === undefined) continue;
          ledger.reload(source.buffer);
          recomputed.add(source.buffer);
        }
        const evicted = recipe.sources.filter((source) => source.buffer.isEvicted);
        for (const source of evicted) need(source.buffer);
        if (evicted.length > 0) continue;
        ledger.replay(recipe);
        recomputed.add(next.buffer);
      }
      way.pop();
      const isFirst = recipes.delete(recipe);
      for (const { buffer: source } of recipe.sources) {
        source.locks--;
        const left = (readers.get(source) ?? 0) - (isFirst ? 1 : 0);
        readers.set(source, left);
        if (left <= 0) evictUnused(source);
      }
    }
  } finally {
    for (const { recipe } of way) for (const source of recipe.sources) source.buffer.locks--;
  }
  recomputed.delete(buffer);
  for (const helper of recomputed) evictUnused(helper);
}

/** Returns the recipes that must run to make `buffer`, and how many of them read each buffer. */
function recipesBehind(buffer: StoredBuffer): { recipes: Set<Recipe>; readers: Map<StoredBuffer, number> } {
  const recipes = new Set<Recipe>();
  const readers = new Map<StoredBuffer, number>();
  const way = [buffer];
  for (let next = way.pop(); next !== undefined; next = way.pop()) {
    const maker = next.data[0]?.maker;
    if (maker === undefined || recipes.has(maker)) continue;
    recipes.add(maker);
    for (const { buffer: source } of maker.sources) {
      readers.set(source, (readers.get(source) ?? 0) + 1);
      if (source.isEvicted && source.hostCopy === undefined) way.push(source);
    }
  }
  return { recipes, readers };
}

const evictedForGood = ({ bytes }: StoredBuffer): RematError =>
  new RematError(
    "VALUE_GONE",
    `the step reads ${formatBytes(bytes)} of random values that the plan freed and that cannot be recomputed. ` +
      "The step differs from the planned one: plan it again.",
  );
