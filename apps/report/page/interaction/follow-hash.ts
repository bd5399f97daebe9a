import { initialState, readHash, type Store, writeHash } from "../state.js";

/** Keeps the address and the state the same, so that a copied address leads to the same view. */
export function followHash(store: Store): void {
  let waiting = 0;
  store.follow(() => {
    clearTimeout(waiting);
    // Browsers refuse too many changes of the address in a row, as a slider would make.
    waiting = window.setTimeout(() => {
      const hash = writeHash(store.state);
      if (hash !== location.hash.slice(1)) history.replaceState(null, "", `#${hash}`);
    }, 120);
  });
  addEventListener("hashchange", () => {
    if (document.getElementById(location.hash.slice(1)) !== null) return;
    store.update({ ...initialState, ...readHash(location.hash) });
  });
}
