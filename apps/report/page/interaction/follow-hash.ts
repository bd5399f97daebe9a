import { initialState, readHash, type Store, writeHash } from "../state.js";
import { comeBack } from "./go-to.js";

/**
 * Keeps the address and the state in sync, so that a copied address leads to the same view, and the browser can go back
 * through selections.
 */
export function followHash(store: Store): void {
  let waiting = 0;
  let isSelection = false;
  /** The address as last written or read here. */
  let known = location.hash;
  store.follow((_state, changed) => {
    isSelection ||= changed.has("op") || changed.has("module");
    clearTimeout(waiting);
    // Browsers reject many changes of the address in a row, which moving a slider would cause.
    waiting = window.setTimeout(() => {
      // The user has just changed the address, and the browser's event has not arrived yet. The new address takes
      // precedence.
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

/** Returns to the previous selection, like the browser, but without leaving the report. */
function goBack(): void {
  if (stepsTaken() === 0) return;
  history.back();
  comeBack();
}

/** Number of selections that the browser can go back through. */
function stepsTaken(): number {
  const { steps } = (history.state ?? {}) as { readonly steps?: unknown };
  return typeof steps === "number" ? steps : 0;
}
