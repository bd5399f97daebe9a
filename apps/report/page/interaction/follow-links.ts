import { readHash, type Store } from "../state.js";

/** Links that set a part of the state leave the rest as it is. */
export function followLinks(store: Store, root: HTMLElement): void {
  root.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element).closest('a[href^="#"]');
    const change = readHash(link?.getAttribute("href") ?? "");
    if (link === null || Object.keys(change).length === 0) return;
    event.preventDefault();
    store.update(change);
  });
}
