import type { HeldStorage, MemoryMoment } from "@remat/memory";
import {
  categoryColours,
  categoryLabels,
  categoryStack,
  describeMaker,
  describeShape,
  formatBytes,
  formatPercent,
} from "@remat/reporting";
import { fill, h } from "../dom.js";
import { amountCell, csvButton } from "../interaction/table-csv.js";
import { describeOp, latest, type PageContext } from "../page-context.js";
import { onThemeChange } from "../theme.js";
import { bandLegend } from "./legend.js";

/** Shows what is alive at the selected op, or at the peak: the largest storages, who made them and where. */
export function mountMoment({ engine, overview, store }: PageContext, parent: HTMLElement): void {
  const body = h("div", { class: "moment", "aria-live": "polite" });
  const name = `${overview.meta.title}: what is alive`;
  parent.append(
    body,
    csvButton(name, () => body.querySelector("table")),
  );
  const ask = latest();
  let shown: { readonly moment: MemoryMoment; readonly title: string } | undefined;
  const draw = (): void => {
    if (shown !== undefined) fill(body, ...momentParts(shown.moment, shown.title));
  };
  const show = (moment: MemoryMoment, title: string): void => {
    shown = { moment, title };
    draw();
  };
  onThemeChange(draw);
  store.follow(({ op }, changed) => {
    if (!changed.has("op")) return;
    const { peak } = overview.meta.summary;
    if (op >= 0 && op < overview.ops.count)
      ask(
        () => engine.moment(op),
        (moment) => show(moment, `After ${describeOp(overview, op)}`),
      );
    else if (peak !== undefined)
      ask(
        async () => peak,
        (moment) => show(moment, "At the peak"),
      );
  });
}

function momentParts(moment: MemoryMoment, title: string): Node[] {
  const categories = categoryStack.flatMap((category) => {
    const bytes = moment.bytesByCategory[category];
    return bytes === undefined
      ? []
      : [{ label: categoryLabels[category], colour: categoryColours[category], value: formatBytes(bytes) }];
  });
  return [
    h("h3", {}, title),
    h("p", {}, `${formatBytes(moment.totalBytes)} in ${moment.storageCount} storages.`),
    h(
      "div",
      { class: "columns" },
      h("div", {}, bandLegend(categories.reverse())),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": `Largest storages: ${title}` },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...[
                ["Size", "number"],
                ["Share", "number"],
                ["Category", ""],
                ["Shape", ""],
                ["Made by", ""],
                ["In module", ""],
              ].map(([label, style]) => h("th", { scope: "col", class: style || undefined }, label)),
            ),
          ),
          h(
            "tbody",
            {},
            ...moment.largest.map((held) =>
              h(
                "tr",
                {},
                amountCell(held.bytes, formatBytes),
                amountCell(held.bytes / Math.max(1, moment.totalBytes), formatPercent),
                h("td", {}, categoryLabels[held.category]),
                h("td", { class: "whole" }, describeShape(held)),
                h("td", {}, makerLink(held)),
                h("td", {}, moduleCell(held.owner ?? held.maker?.module)),
              ),
            ),
          ),
        ),
      ),
    ),
  ];
}

function makerLink(held: HeldStorage): HTMLElement | string {
  const { maker, owner } = held;
  if (maker === undefined) return owner === undefined ? "not by an op" : "a weight";
  return h("a", { href: `#op=${maker.op}` }, `${maker.op} ${describeMaker(held)}`);
}

/** Makes a link that selects a module. */
export function moduleAnchor(fqn: string): HTMLElement {
  return h("a", { href: `#${new URLSearchParams({ module: fqn })}` }, fqn);
}

/** The module that made a storage, or of whose weights it is one. */
function moduleCell(fqn: string | undefined): Node | string {
  return fqn === undefined ? "" : moduleAnchor(fqn);
}
