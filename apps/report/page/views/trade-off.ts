import { formatBytes, formatPercent, type TimeFormat, type TradeOffPoint } from "@remat/reporting";
import { timeFormatOf } from "../../src/data/time-format-of.js";
import { frontChart } from "../charts/front-chart.js";
import { tradeOffChart } from "../charts/trade-off-chart.js";
import { fill, h } from "../dom.js";
import type { PolicyAnswer, SacAnswer } from "../engine/answers.js";
import { standaloneSvg } from "../interaction/download.js";
import { goTo } from "../interaction/go-to.js";
import { amountCell, csvButton } from "../interaction/table-csv.js";
import { latest } from "../latest.js";
import type { PageContext } from "../page-context.js";
import { initialState } from "../state.js";
import { token } from "../theme.js";
import { budgetControls, policyTable } from "./budget.js";
import { exportButtons, section } from "./figure.js";
import { mountMultiples } from "./multiples.js";

/**
 * Shows the time cost of saving memory: for one module with an adjustable budget, for the whole step, and for all
 * modules side by side.
 */
export function mountTradeOff(context: PageContext): HTMLElement {
  const { engine, overview, store, policies } = context;
  const { plans, title } = overview.meta;
  const formatTime = timeFormatOf(overview.meta);
  const chart = h("div", { class: "chart-box" });
  const heading = h("h3", { id: "trade-off-module" });
  const pieces = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Fitted pieces" });
  const table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Policy for the budget" });
  const controls = budgetControls(store);
  const askModule = latest();
  const askPolicy = latest(true);
  const askCurve = latest();
  const askColumns = latest();
  let sac: SacAnswer | undefined;
  let policy: PolicyAnswer | undefined;
  let optimal: readonly TradeOffPoint[] = [];
  let width = 0;

  const draw = (): void => {
    if (sac === undefined || width === 0) return;
    fill(
      chart,
      tradeOffChart(sac.view, {
        width,
        height: Math.min(380, Math.max(260, width * 0.62)),
        optimal,
        budget: budgetPoint(),
      }),
    );
  };
  const budgetPoint = () => {
    const chosen = store.state.method === "optimal" ? (policy?.optimal ?? policy?.greedy) : policy?.greedy;
    if (chosen === undefined || sac === undefined) return undefined;
    const { memoryBytes, runtimeMs } = sac.view;
    const at: TradeOffPoint = [
      memoryBytes > 0 ? 1 - chosen.storedBytes / memoryBytes : 0,
      runtimeMs > 0 ? chosen.recomputationMs / runtimeMs : 0,
    ];
    return { at, label: `saves ${formatBytes(chosen.storedBytes)}, costs ${formatPercent(at[1])}` };
  };
  const showPolicy = (answer: PolicyAnswer | undefined): void => {
    policy = answer;
    // While a slider moves, an answer may still be for the previous module.
    if (answer !== undefined && answer.fqn === sac?.fqn) {
      fill(table, policyTable(answer, store.state.method, sac.view.runtimeMs, formatTime, showOps));
      policies.tellPolicy(answer, store.state.method);
    }
    draw();
  };
  const showOps = (fate: number): void => {
    store.update({ fate, filter: "", marks: 0, phase: -1 });
    goTo("ops");
  };
  const askForPolicy = (): void =>
    askPolicy(() => engine.policy(store.state.module, store.state.keep / 1000, true), showPolicy);

  /** Computing the optimum blocks other answers for seconds, so it starts only when the section is visible. */
  const askForCurve = (): void => {
    if (perModule.open)
      askCurve(
        () => engine.optimalCurve(store.state.module),
        (points) => {
          optimal = points;
          draw();
        },
      );
  };

  const whole = h("div", { class: "chart-box" });
  const multiples = mountMultiples(context);
  const perModule = h(
    "details",
    { class: "fold" },
    h("summary", {}, "Per module: the cost of saving less for the backward pass"),
    h(
      "div",
      { class: "columns wide-left" },
      h(
        "div",
        {},
        h(
          "div",
          { class: "toolbar" },
          heading,
          exportButtons(`${title}-trade-off`, () => svgOf(chart)),
        ),
        chart,
        h(
          "ul",
          { class: "marks" },
          ...(["original", "shifted", "piece", "optimal"] as const).map((kind) =>
            h("li", { class: `mark-${kind}` }, markLabels[kind]),
          ),
        ),
      ),
      h(
        "div",
        {},
        h("h3", {}, "Budget"),
        controls.element,
        table,
        csvButton(`${title}: budget`, () => table.querySelector("table:last-of-type")),
        h("h3", {}, "Fitted pieces"),
        pieces,
        csvButton(`${title}: fitted pieces`, () => pieces.querySelector("table")),
      ),
    ),
    multiples.element,
  );
  perModule.addEventListener("toggle", () => {
    if (!perModule.open) return;
    askForCurve();
    multiples.begin();
  });
  const { module, keep, method } = store.state;
  // The section is open if the address refers to it.
  perModule.open = plans === undefined || module !== "" || keep !== initialState.keep || method !== initialState.method;
  if (perModule.open) multiples.begin();
  const element = section(
    "trade-off",
    "Trade-off",
    plans &&
      h(
        "div",
        { class: "toolbar" },
        h("h3", {}, "The whole step"),
        exportButtons(`${title}-plans`, () => svgOf(whole)),
      ),
    plans && whole,
    plans &&
      h(
        "p",
        { class: "note" },
        "Each point is a plan of the whole step, found when the report was made. Choose one with the budget of the timeline.",
      ),
    perModule,
  );
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(chart);
  if (plans !== undefined)
    new ResizeObserver(([entry]) => {
      const wide = Math.floor(entry.contentRect.width);
      fill(whole, frontChart(plans, wide, Math.min(300, Math.max(220, wide * 0.5))));
    }).observe(whole);

  store.follow((state, changed) => {
    controls.show(state, sac?.view.memoryBytes);
    if (changed.has("module")) {
      askModule(
        () => engine.sac(state.module),
        (answer) => {
          sac = answer;
          element.hidden = answer === undefined;
          if (answer === undefined) return;
          fill(heading, answer.fqn === "" ? "The whole" : answer.fqn);
          fill(pieces, piecesTable(answer, formatTime));
          controls.show(store.state, answer.view.memoryBytes);
          showPolicy(policy?.fqn === answer.fqn ? policy : undefined);
        },
      );
      optimal = [];
      askForPolicy();
      askColumns(
        () => engine.columns(state.module),
        (columns) => policies.tellColumns(columns),
      );
      askForCurve();
    } else if (changed.has("keep")) askForPolicy();
    else if (changed.has("method")) showPolicy(policy);
  });
  return element;
}

const markLabels = {
  original: "original points, greedy order",
  shifted: "shifted points, to which the pieces are fitted",
  piece: "fitted pieces",
  optimal: "optimum",
} as const;

function svgOf(box: HTMLElement): string {
  const svg = box.querySelector("svg");
  return svg === null ? "" : standaloneSvg(svg, token("--paper"));
}

function piecesTable({ view }: SacAnswer, formatTime: TimeFormat): HTMLElement {
  const header = (label: string, isNumber = true) =>
    h("th", { scope: "col", class: isNumber ? "number" : undefined }, label);
  return h(
    "table",
    {},
    h(
      "caption",
      { class: "hidden" },
      `Pieces fitted to a curve of ${formatBytes(view.memoryBytes)} and ${formatTime(view.runtimeMs)}`,
    ),
    h("thead", {}, h("tr", {}, header("From"), header("To"), header("Slope"), header("Intercept"))),
    h(
      "tbody",
      {},
      ...view.pieces.map(({ from, to, slope, intercept }) =>
        h(
          "tr",
          {},
          amountCell(from[0], formatPercent),
          amountCell(to[0], formatPercent),
          amountCell(slope, (value) => value.toFixed(4)),
          amountCell(intercept, (value) => value.toFixed(4)),
        ),
      ),
    ),
  );
}
