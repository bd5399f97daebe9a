import { fill, h } from "../dom.js";
import type { PageContext } from "../page-context.js";
import type { PageState } from "../state.js";
import { goTo } from "./go-to.js";
import { mountSearch } from "./search.js";

const sections = [
  ["timeline", "Timeline"],
  ["held", "Live tensors"],
  ["summary", "Plans"],
  ["trade-off", "Trade-off"],
  ["modules", "Modules"],
  ["ops", "Ops"],
  ["environment", "Environment"],
] as const;

const themes: readonly PageState["theme"][] = ["auto", "light", "dark"];

/** Mounts the bar that is always visible: sections, the selection, search, theme. */
export function mountBar(context: PageContext, bar: HTMLElement): void {
  const { store, overview } = context;
  const mounted = sections.filter(([id]) => id !== "trade-off" || overview.header.step?.predict !== true);
  const links = mounted.map(([id, label]) =>
    h("a", { href: `#${id}`, onclick: (event: Event) => goTo(id, event) }, label),
  );
  hideLinksToNothing(links);
  const selection = h("div", { class: "selection", "aria-live": "polite" });
  const theme = h("button", {
    type: "button",
    class: "theme",
    onclick: () => store.update({ theme: themes[(themes.indexOf(store.state.theme) + 1) % themes.length] }),
  });
  fill(bar, h("nav", { "aria-label": "Sections" }, ...links), selection, mountSearch(context), theme);
  store.follow((state, changed) => {
    theme.textContent = { auto: "◐", light: "☀", dark: "☾" }[state.theme];
    theme.setAttribute("aria-label", `Colours: ${state.theme}. Change them.`);
    theme.title = `Colours: ${state.theme}`;
    if (!changed.has("module") && !changed.has("op")) return;
    const chip = (label: string, what: string, change: Partial<PageState>): HTMLElement =>
      h(
        "span",
        { class: "chip" },
        h("bdi", {}, label),
        h("button", { type: "button", "aria-label": `Deselect ${what}`, onclick: () => store.update(change) }, "×"),
      );
    fill(
      selection,
      state.module !== "" && chip(state.module, "the module", { module: "" }),
      state.op >= 0 && state.op < overview.ops.count && chip(`op ${state.op}`, "the op", { op: -1 }),
    );
  });
}

/** Shows only links to existing sections. */
function hideLinksToNothing(links: readonly HTMLAnchorElement[]): void {
  const look = (): void => {
    for (const link of links) {
      const target = document.getElementById(link.hash.slice(1));
      const isHidden = target === null || target.hidden;
      // Every assignment counts as a change and would trigger another check.
      if (link.hidden !== isHidden) link.hidden = isHidden;
    }
  };
  look();
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributeFilter: ["hidden"] });
}
