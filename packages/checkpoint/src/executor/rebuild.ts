import { RematError } from "@remat/trace";
import type { Recipe, StoredBuffer } from "./stored-data.js";

/** Runs recipes, and lets buffers go. */
interface Replaying {
  replay(recipe: Recipe): void;
  evict(buffer: StoredBuffer): void;
}

/**
 * Makes a buffer again, and before it whatever is needed for that, each once; of this, what no tensor lives in goes as soon as it has had its last
 * reader.
 *
 * @throws RematError `VALUE_GONE` if something is read that a plan has let go of for good
 * @internal
 */
export function rebuild(buffer: StoredBuffer, ledger: Replaying): void {
  const way: { readonly buffer: StoredBuffer; readonly recipe: Recipe }[] = [];
  const rebuilt = new Set<StoredBuffer>();
  const { recipes, readers } = recipesBehind(buffer);
  const need = (needed: StoredBuffer) => {
    const recipe = needed.data[0]?.maker;
    if (recipe === undefined) throw goneForGood(needed);
    for (const source of recipe.sources) source.buffer.locks++;
    way.push({ buffer: needed, recipe });
  };
  const release = (helper: StoredBuffer) => {
    if (rebuilt.has(helper) && !helper.isUsed && helper.isEvictable) ledger.evict(helper);
  };
  try {
    need(buffer);
    for (let next = way.at(-1); next !== undefined; next = way.at(-1)) {
      const { recipe } = next;
      if (next.buffer.isEvicted) {
        const gone = recipe.sources.filter((source) => source.buffer.isEvicted);
        for (const source of gone) need(source.buffer);
        if (gone.length > 0) continue;
        ledger.replay(recipe);
        rebuilt.add(next.buffer);
      }
      way.pop();
      const isFirst = recipes.delete(recipe);
      for (const { buffer: source } of recipe.sources) {
        source.locks--;
        const left = (readers.get(source) ?? 0) - (isFirst ? 1 : 0);
        readers.set(source, left);
        if (left <= 0) release(source);
      }
    }
  } finally {
    for (const { recipe } of way) for (const source of recipe.sources) source.buffer.locks--;
  }
  rebuilt.delete(buffer);
  for (const helper of rebuilt) release(helper);
}

/** What would have to run so that `buffer` is there, and how many of these recipes read each buffer. */
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
      if (source.isEvicted) way.push(source);
    }
  }
  return { recipes, readers };
}

const goneForGood = ({ bytes }: StoredBuffer): RematError =>
  new RematError(
    "VALUE_GONE",
    `${bytes} bytes are read that the plan has let go of for good: made of random numbers, they cannot be made again, and no op of the plan reads them. The step does something that the planned one did not; plan it anew.`,
  );
