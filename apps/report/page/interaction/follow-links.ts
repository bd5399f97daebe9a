import { readHash, type Store } from "../state.js";
import { goTo } from "./go-to.js";

/** Links that set a part of the state leave the rest as it is, and lead to where it is shown. */
export function followLinks(store: Store, root: HTMLElement): void {
  root.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element).closest('a[href^="#"]');
    const change = readHash(link?.getAttribute("href") ?? "");
    if (link === null || Object.keys(change).length === 0) return;
    event.preventDefault();
    // An op may be in no row of a table that is reduced to a module or a filter.
    if (change.op !== undefined) store.update({ module: "", filter: "", marks: 0, phase: -1, fate: -1, ...change });
    else store.update(change);
    if (change.op !== undefined) goTo("ops");
    else if (change.module !== undefined) goTo("modules");
  });
}
