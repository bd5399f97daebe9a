import { readHash, type Store } from "../state.js";
import { goTo } from "./go-to.js";

/** Makes links that set a part of the state keep the rest, and scroll to the place that shows it. */
export function followLinks(store: Store, root: HTMLElement): void {
  root.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element).closest('a[href^="#"]');
    const change = readHash(link?.getAttribute("href") ?? "");
    if (link === null || Object.keys(change).length === 0) return;
    event.preventDefault();
    // A module or filter may hide the op from the table.
    if (change.op !== undefined) store.update({ module: "", filter: "", marks: 0, phase: -1, fate: -1, ...change });
    else store.update(change);
    if (change.op !== undefined) goTo("ops");
    else if (change.module !== undefined) goTo("modules");
  });
}
