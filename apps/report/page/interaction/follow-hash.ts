import { initialState, readHash, type Store, writeHash } from "../state.js";
import { comeBack } from "./go-to.js";

/** Keeps the address and the state the same, so that a copied address leads to the same view, and each selection is a step that the browser goes back by. */
export function followHash(store: Store): void {
  let waiting = 0;
  let isSelection = false;
  /** The address as it was written here, or read. */
  let known = location.hash;
  store.follow((_state, changed) => {
    isSelection ||= changed.has("op") || changed.has("module");
    clearTimeout(waiting);
    // Browsers refuse too many changes of the address in a row, as a slider would make.
    waiting = window.setTimeout(() => {
      // Somebody has changed it, of which the browser tells in a moment: what it says counts.
      if (location.hash !== known) return;
      const hash = writeHash(store.state);
      const steps = stepsTaken();
      if (hash !== location.hash.slice(1)) {
        if (isSelection) history.pushState({ steps: steps + 1 }, "", `#${hash}`);
        else history.replaceState({ steps }, "", `#${hash}`);
      }
      known = location.hash;
      isSelection = false;
    }, 120);
  });
  addEventListener("hashchange", () => {
    known = location.hash;
    if (location.hash !== "" && document.getElementById(location.hash.slice(1)) !== null) return;
    store.update({ ...initialState, ...readHash(location.hash) });
  });
  addEventListener("keydown", (event) => {
    const isTaken = event.defaultPrevented || (event.target as Element).matches("input, select");
    if (event.key === "Escape" && !isTaken) goBack();
  });
}

/** Goes back to what was selected before, as the browser does, but not out of the report. */
function goBack(): void {
  if (stepsTaken() === 0) return;
  history.back();
  comeBack();
}

/** How many selections the browser can go back by. */
function stepsTaken(): number {
  const { steps } = (history.state ?? {}) as { readonly steps?: unknown };
  return typeof steps === "number" ? steps : 0;
}
