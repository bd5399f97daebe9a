import { h } from "../dom.js";

export interface VirtualRowsOptions {
  readonly label: string;
  readonly head: HTMLElement;
  readonly render: (position: number, row: HTMLElement) => void;
  readonly onChoose: (position: number) => void;
  /** True for rows of a tree, whose content shows their depth. */
  readonly isTree?: boolean;
  /** Called with keys that do not move, and the active row. Returns whether the key was handled. */
  readonly onKey?: (key: string, position: number) => boolean;
}

const rowHeight = 26;
/** Browsers cannot scroll further than about ten million pixels. Beyond this height, a pixel represents several. */
const mostPixels = 8_000_000;

/** A grid of any number of rows, of which only visible ones have elements. Arrow keys move, Enter selects. */
export class VirtualRows {
  readonly element: HTMLElement;
  private readonly options: VirtualRowsOptions;
  private readonly scroller: HTMLElement;
  private readonly spacer: HTMLElement;
  private readonly pool: HTMLElement[] = [];
  private count = 0;
  private active = 0;
  private frame = 0;

  constructor(options: VirtualRowsOptions) {
    this.options = options;
    this.spacer = h("div", { class: "spacer", role: "presentation" });
    this.scroller = h(
      "div",
      {
        class: options.isTree === true ? "ops-grid held-grid" : "ops-grid",
        role: options.isTree === true ? "treegrid" : "grid",
        tabindex: 0,
        "aria-label": options.label,
        onkeydown: (event: KeyboardEvent) => this.onKey(event),
      },
      options.head,
      h("div", { role: "rowgroup", class: "body" }, this.spacer),
    );
    this.element = this.scroller;
    this.scroller.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(this.scroller);
  }

  /** Shows this many rows from now on. */
  show(count: number): void {
    this.count = count;
    this.active = Math.min(this.active, Math.max(0, count - 1));
    this.spacer.style.height = `${Math.min(mostPixels, count * rowHeight)}px`;
    this.scroller.setAttribute("aria-rowcount", String(count + 1));
    this.redraw();
  }

  redraw(): void {
    this.later();
  }

  /** Scrolls to a row and makes it the active one. */
  reveal(position: number): void {
    this.active = position;
    const { first, visible } = this.window();
    if (position < first || position >= first + visible - 1)
      this.scroller.scrollTop = this.scrollOf(Math.max(0, position - Math.floor(visible / 2)));
    this.later();
  }

  private get pixels(): number {
    return Math.min(mostPixels, this.count * rowHeight);
  }

  private get bodyHeight(): number {
    return Math.max(rowHeight, this.scroller.clientHeight - this.options.head.offsetHeight);
  }

  /** Scroll range divided over the rows outside the last page. */
  private scrollOf(first: number): number {
    const last = Math.max(1, this.count - this.bodyHeight / rowHeight);
    return (first / last) * Math.max(0, this.pixels - this.bodyHeight);
  }

  private window(): { readonly first: number; readonly visible: number } {
    const range = Math.max(1, this.pixels - this.bodyHeight);
    const last = Math.max(0, this.count - this.bodyHeight / rowHeight);
    const first = Math.max(0, Math.min(last, (this.scroller.scrollTop / range) * last));
    return { first: this.pixels <= this.bodyHeight ? 0 : first, visible: Math.ceil(this.bodyHeight / rowHeight) + 1 };
  }

  private later(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const { first, visible } = this.window();
    const begin = Math.floor(first);
    const top = this.scroller.scrollTop - (first - begin) * rowHeight;
    const body = this.spacer.parentElement!;
    for (let i = 0; i < Math.max(visible, this.pool.length); i++) {
      const position = begin + i;
      let row = this.pool[i];
      if (i >= visible || position >= this.count) {
        if (row !== undefined) {
          row.hidden = true;
          row.classList.remove("selected");
        }
        continue;
      }
      if (row === undefined) {
        row = h("div", { class: "row", role: "row", onclick: (event: Event) => this.choose(event) });
        this.pool.push(row);
        body.append(row);
      }
      row.hidden = false;
      row.id = `${this.options.label}-row-${i}`;
      row.dataset["position"] = String(position);
      row.setAttribute("aria-rowindex", String(position + 2));
      row.style.transform = `translateY(${Math.round(top + i * rowHeight)}px)`;
      row.classList.toggle("active", position === this.active);
      this.options.render(position, row);
      if (position === this.active) this.scroller.setAttribute("aria-activedescendant", row.id);
    }
  }

  private choose(event: Event): void {
    const position = Number((event.currentTarget as HTMLElement).dataset["position"]);
    this.active = position;
    this.options.onChoose(position);
    this.later();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.scroller) return;
    const page = Math.max(1, this.window().visible - 2);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.count - 1,
    };
    if (event.key === "Enter" || event.key === " ") {
      if (this.count > 0) this.options.onChoose(this.active);
    } else if (Object.hasOwn(steps, event.key)) this.reveal(Math.max(0, Math.min(this.count - 1, steps[event.key])));
    else if (this.options.onKey?.(event.key, this.active) !== true) return;
    event.preventDefault();
  }
}
