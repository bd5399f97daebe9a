import { formatBytes } from "@remat/reporting";
import { tradeOffMultiple } from "../charts/trade-off-chart.js";
import { fill, h } from "../dom.js";
import type { PageContext } from "../page-context.js";

const first = 24;

/** Mounts the trade-offs of many modules side by side. Each selects its module. Nothing is requested before `begin`. */
export function mountMultiples({ engine, store }: PageContext): { readonly element: HTMLElement; begin(): void } {
  const grid = h("div", { class: "multiples" });
  const more = h("button", { type: "button", hidden: true }, "Show more");
  const box = h("div", {}, h("h3", {}, "By module"), grid, more);
  let limit = first;
  const buttons = new Map<string, HTMLElement>();
  const show = async (): Promise<void> => {
    const answers = await engine.multiples(limit);
    box.hidden = answers.length < 2;
    buttons.clear();
    for (const { fqn, view } of answers)
      buttons.set(
        fqn,
        h(
          "button",
          {
            type: "button",
            title: `${fqn}: ${formatBytes(view.memoryBytes)}`,
            onclick: () => store.update({ module: fqn }),
          },
          tradeOffMultiple(view, 116, 64),
          h("span", { class: "name" }, h("bdi", {}, fqn)),
          h("span", { class: "note" }, formatBytes(view.memoryBytes)),
        ),
      );
    fill(grid, ...buttons.values());
    more.hidden = answers.length < limit;
    mark(store.state.module);
  };
  const mark = (module: string): void => {
    for (const [fqn, button] of buttons) button.setAttribute("aria-pressed", String(fqn === module));
  };
  more.addEventListener("click", () => {
    limit *= 2;
    void show();
  });
  let hasBegun = false;
  store.follow(({ module }, changed) => {
    if (changed.has("module")) mark(module);
  });
  return {
    element: box,
    begin() {
      if (hasBegun) return;
      hasBegun = true;
      void show();
    },
  };
}
