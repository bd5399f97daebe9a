/** A movement over rows. */
export type Motion = "up" | "down" | "pageUp" | "pageDown" | "top" | "bottom";

const motions: readonly string[] = ["up", "down", "pageUp", "pageDown", "top", "bottom"] satisfies Motion[];

export function isMotion(action: string): action is Motion {
  return motions.includes(action);
}

/** Returns how many rows a motion moves, with `page` rows to a page. */
export function rowsBy(motion: Motion, page: number): number {
  switch (motion) {
    case "up":
      return -1;
    case "down":
      return 1;
    case "pageUp":
      return -page;
    case "pageDown":
      return page;
    case "top":
      return -Number.MAX_SAFE_INTEGER;
    case "bottom":
      return Number.MAX_SAFE_INTEGER;
  }
}
