import type { ResidentWatch } from "./resident-watch.js";

/** Of `ResidentWatch`, in a page, to which nobody tells what its process holds. @internal */
class ResidentWatchInPages implements Pick<ResidentWatch, "beginOnce" | "begin" | "look"> {
  beginOnce(): void {}
  begin(): void {}
  look(): void {}
}

// Under the name by which `budget-keeper.ts` imports it.
export { ResidentWatchInPages as ResidentWatch };
