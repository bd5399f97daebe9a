import { parseBudget } from "@remat/memory";
import { formatBytes, type StepView, viewStep } from "@remat/reporting";
import { checkCallOptions, checkOptionNames, RematError, type Trace, writeTrace } from "@remat/trace";
import { displaySafeLines } from "@remat/trace/emit";
import { type MemoryInfo, memory } from "@tensorflow/tfjs-core";
import { drawSteps } from "./draw-steps.js";
import { make } from "./make-element.js";
import { styles } from "./styles.js";
import { watchSteps } from "./watch-steps.js";

/** Options of `showMemory`. */
export interface ShowMemoryOptions {
  /** Number of steps in the drawing, from 1 to 20. Default: 3. */
  readonly steps?: number;
  /** Element that contains the panel. Default: the page's body. */
  readonly parent?: Element;
  /** Makes the HTML report of a step, which a button opens in a new tab. Default: no button. */
  readonly report?: (trace: Trace) => string | Promise<string>;
}

/** A panel on a page. */
export interface MemoryPanel {
  /** The panel's element. */
  readonly element: HTMLElement;
  /**
   * Removes the panel, and ends early release and the budget that were switched on in it. A second call does nothing.
   */
  close(): void;
}

/** Early release or a budget that is switched on. */
interface Switch {
  close(): void;
}

/**
 * Shows a panel on a page that trains. It shows live memory by category over the last training steps, and the tensors
 * at the peak. It has switches for early release and a budget, and a button that saves the last step as a trace. It
 * only observes: losses and weights stay bitwise identical.
 *
 * @throws RematError `NO_PAGE` if there is no document, as in Node or in a worker, `ARGUMENT` for invalid options
 * @example
 * const panel = showMemory();
 * await model.fit(x, y);
 * panel.close();
 */
export function showMemory(options: ShowMemoryOptions = {}): MemoryPanel {
  checkCallOptions("showMemory", options, {
    steps: [isStepCount, "a whole number from 1 to 20"],
    parent: [(value) => value instanceof Element, "an element of the page"],
    report: [(value) => typeof value === "function", "a function that makes HTML of a trace"],
  });
  checkOptionNames("showMemory", options, ["steps", "parent", "report"]);
  if (typeof document === "undefined")
    throw new RematError(
      "NO_PAGE",
      "showMemory() needs a browser page, and there is no document here. In a worker or in Node record a trace and open it with `remat report`.",
    );
  return new Panel(options.steps ?? 3, options.parent ?? document.body, options.report);
}

/** Loaded on demand: it is half of the panel's code, and only the switches need it. */
const loadExecutor = () => import("@remat/checkpoint");

const isStepCount = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 20;

class Panel implements MemoryPanel {
  private readonly stepCount: number;
  private readonly report: ShowMemoryOptions["report"];
  readonly element: HTMLElement = document.createElement("remat-panel");
  private readonly steps: StepView[] = [];
  private lastTrace: Trace | undefined;
  private early: Switch | undefined;
  private budget: (Switch & { readonly bytes: () => number | undefined }) | undefined;
  private seen = 0;
  private frame = 0;
  private isOpen = true;
  private readonly stopWatching: () => void;
  private readonly picture: HTMLElement = make("div");
  private readonly summary: HTMLElement = make("p", {}, "No step has been seen yet.");
  private readonly details: HTMLElement = make("div");
  private readonly status: HTMLElement = make("p", { role: "status", class: "error" });
  private readonly body: HTMLElement;
  private readonly save: HTMLButtonElement = make("button", { type: "button", disabled: "" }, "Save trace");
  private readonly open: HTMLButtonElement = make("button", { type: "button", disabled: "" }, "Open report");

  constructor(stepCount: number, parent: Element, report: ShowMemoryOptions["report"]) {
    this.stepCount = stepCount;
    this.report = report;
    this.open.addEventListener("click", () => void this.openReport());
    this.save.addEventListener("click", () => this.saveTrace());
    this.body = make(
      "div",
      { class: "body", id: "body" },
      this.picture,
      this.summary,
      this.controls(),
      this.status,
      this.details,
    );
    const fold = make("button", { type: "button", "aria-expanded": "true", "aria-controls": "body" }, "Fold");
    fold.addEventListener("click", () => {
      this.body.hidden = !this.body.hidden;
      fold.setAttribute("aria-expanded", String(!this.body.hidden));
      fold.textContent = this.body.hidden ? "Unfold" : "Fold";
    });
    const end = make("button", { type: "button", "aria-label": "Close the memory panel" }, "Close");
    end.addEventListener("click", () => this.close());
    const header = make("header", {}, make("h2", {}, "Memory of training"), fold, end);
    const root = this.element.attachShadow({ mode: "open" });
    // Not a style element, which a page's content security policy may block.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    root.adoptedStyleSheets = [sheet];
    root.append(make("section", { "aria-label": "Memory of training" }, header, this.body));
    parent.append(this.element);
    this.stopWatching = watchSteps((trace) => this.stepDone(trace));
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    cancelAnimationFrame(this.frame);
    this.stopWatching();
    this.early?.close();
    this.budget?.close();
    this.element.remove();
  }

  private controls(): HTMLElement {
    const early = make("input", { type: "checkbox" });
    early.addEventListener("change", () => void this.switchEarly(early));
    const size = make("input", {
      type: "text",
      value: "50%",
      "aria-label": "Budget: a size such as 64MB, or a percentage of the baseline",
    });
    const budget = make("input", { type: "checkbox" });
    budget.addEventListener("change", () => void this.switchBudget(budget, size));
    return make(
      "div",
      { class: "controls" },
      make("label", {}, early, "Early release"),
      make("label", {}, budget, "Budget"),
      size,
      this.save,
      ...(this.report === undefined ? [] : [this.open]),
    );
  }

  private async switchEarly(box: HTMLInputElement): Promise<void> {
    this.early?.close();
    this.early = undefined;
    this.status.textContent = "";
    if (!box.checked) return;
    try {
      const { releaseEarly } = await loadExecutor();
      if (box.checked && this.isOpen) this.early ??= { close: releaseEarly() };
    } catch (error) {
      this.refuse(box, error);
    }
  }

  private async switchBudget(box: HTMLInputElement, size: HTMLInputElement): Promise<void> {
    this.budget?.close();
    this.budget = undefined;
    size.disabled = box.checked;
    this.status.textContent = "";
    if (!box.checked) return;
    try {
      const asked = size.value.trim() as `${number}%`;
      parseBudget(asked);
      const { openMemoryBudget } = await loadExecutor();
      if (!box.checked || !this.isOpen || this.budget !== undefined) return;
      const { execution, close } = openMemoryBudget(asked);
      this.budget = { close, bytes: () => execution.budgetBytes };
    } catch (error) {
      this.refuse(box, error);
      size.disabled = false;
    }
  }

  private refuse(box: HTMLInputElement, error: unknown): void {
    this.status.textContent = displaySafeLines((error as Error).message);
    box.checked = false;
  }

  private stepDone(trace: Trace): void {
    this.lastTrace = trace;
    this.seen++;
    this.save.disabled = this.open.disabled = false;
    // Draws at most once per frame. A background tab has no frames, and draws when it becomes visible.
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    const view = this.lastTrace && viewStep(this.lastTrace);
    if (view === undefined) return;
    this.steps.push(view);
    if (this.steps.length > this.stepCount) this.steps.shift();
    if (this.body.hidden) return;
    this.picture.replaceChildren(drawSteps(this.steps, this.budget?.bytes()));
    const { numBytesInGPU } = memory() as MemoryInfo & { readonly numBytesInGPU?: number };
    const onGpu = numBytesInGPU === undefined ? "" : `; on the GPU now ${formatBytes(numBytesInGPU)}`;
    this.summary.textContent = displaySafeLines(
      `Step ${this.seen}: peak ${formatBytes(view.peakBytes)}, while ${view.peakOp} ran${onGpu}`,
    );
    this.details.replaceChildren(categoryTable(view), largestTable(view));
  }

  private async openReport(): Promise<void> {
    if (this.lastTrace === undefined || this.report === undefined) return;
    // Opens before the first `await`, since later the browser would not attribute it to the click.
    const opened = window.open("", "_blank");
    this.open.disabled = true;
    this.status.textContent = "";
    try {
      const html = await this.report(this.lastTrace);
      const address = URL.createObjectURL(new Blob([html], { type: "text/html" }));
      if (opened === null) throw new Error("The browser blocked the new page. Allow pop-ups, and try again.");
      opened.location.href = address;
    } catch (error) {
      opened?.close();
      this.status.textContent = displaySafeLines((error as Error).message);
    } finally {
      this.open.disabled = false;
    }
  }

  private saveTrace(): void {
    if (this.lastTrace === undefined) return;
    const file = new Blob([...writeTrace(this.lastTrace, { gzip: true })] as BlobPart[], { type: "application/gzip" });
    const address = URL.createObjectURL(file);
    const link = make("a", { href: address, download: "step.remat.jsonl.gz" });
    link.click();
    URL.revokeObjectURL(address);
  }
}

function categoryTable({ categories }: StepView): HTMLElement {
  const rows = categories.map(({ category, label, bytes }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("span", { class: `swatch ${category}`, "aria-hidden": "true" }), label),
      make("td", {}, formatBytes(bytes)),
    ),
  );
  return make("table", {}, make("caption", {}, "Peak memory by category"), make("tbody", {}, ...rows));
}

function largestTable({ largest }: StepView): HTMLElement {
  const rows = largest.map(({ count, label, shape, maker, bytes }) =>
    make(
      "tr",
      {},
      make(
        "th",
        { scope: "row" },
        [count > 1 ? `${count} ×` : "", maker || label, shape].filter((part) => part !== "").join(" "),
      ),
      make("td", {}, formatBytes(bytes)),
    ),
  );
  return make("table", {}, make("caption", {}, "The largest then"), make("tbody", {}, ...rows));
}
