import type { ResidentWatch } from "./resident-watch.js";

/** `ResidentWatch` for web pages, which cannot read the memory of their process. @internal */
class ResidentWatchInPages implements Pick<ResidentWatch, "beginOnce" | "begin" | "look"> {
  beginOnce(): void {}
  begin(): void {}
  look(): void {}
}

// `budget-keeper.ts` imports this name.
export { ResidentWatchInPages as ResidentWatch };
