import type { MemoryBands } from "@remat/reporting";
import { CanvasPainter } from "../charts/painter.js";
import { timelineMargin } from "../charts/timeline-scene.js";
import { h } from "../dom.js";
import type { Store } from "../state.js";
import { onThemeChange, token } from "../theme.js";
import type { Stretch, TimelineAxis } from "./timeline-view.js";

const mapHeight = 44;

export interface MinimapOptions {
  readonly store: Store;
  readonly bands: MemoryBands;
  readonly axis: TimelineAxis;
  readonly stretch: () => Stretch;
  readonly show: (stretch: Stretch) => void;
}

type Grip = "start" | "end" | "middle";

/**
 * Mounts a small picture of the whole step with the visible range, which can be moved and resized by pointer and keys.
 */
export function mountMinimap({ store, bands, axis, stretch, show }: MinimapOptions): {
  readonly element: HTMLElement;
  resize(width: number): void;
  show(): void;
} {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const handle = (grip: Grip, label: string): HTMLElement =>
    h("div", {
      class: `handle ${grip}`,
      role: "slider",
      tabindex: 0,
      "aria-label": label,
      "aria-orientation": "horizontal",
      "aria-valuemin": 0,
      "aria-valuemax": axis.count,
      onkeydown: (event: KeyboardEvent) => onKey(grip, event),
    });
  const start = handle("start", "First op shown");
  const end = handle("end", "Last op shown");
  const middle = h("div", { class: "window" });
  const map = h("div", { class: "minimap" }, canvas, middle, start, end);
  let width = 0;
  let grip: { readonly kind: Grip; readonly from: number; readonly stretch: Stretch } | undefined;
  const { left, right } = timelineMargin;
  const plot = (): number => Math.max(1, width - left - right);
  const whole = { from: 0, to: axis.count };

  const kindOf = () => store.state.axis;
  /** New position of an end of the range after moving it by a share of the map. */
  const moved = (op: number, by: number): number => {
    const place = axis.placeOf(op, whole, kindOf()) + by;
    return place <= 0 ? 0 : place >= 1 ? axis.count : axis.opAt(place, whole, kindOf());
  };
  const move = (kind: Grip, share: number, since: Stretch, begun: number): void => {
    const by = share - begun;
    if (kind === "start") show({ from: Math.min(moved(since.from, by), since.to - 8), to: since.to });
    else if (kind === "end") show({ from: since.from, to: Math.max(moved(since.to, by), since.from + 8) });
    else {
      const from = Math.min(moved(since.from, by), axis.count - (since.to - since.from));
      show({ from, to: from + since.to - since.from });
    }
  };
  const shareOf = (event: PointerEvent): number =>
    Math.min(1, Math.max(0, (event.clientX - map.getBoundingClientRect().left - left) / plot()));
  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    map.setPointerCapture(event.pointerId);
    const kind: Grip = event.target === start ? "start" : event.target === end ? "end" : "middle";
    let since = stretch();
    if (event.target === canvas) {
      // A click beside the window moves it there.
      const at = axis.opAt(shareOf(event), whole, kindOf());
      const half = (since.to - since.from) / 2;
      show({ from: at - half, to: at + half });
      since = stretch();
    }
    grip = { kind, from: shareOf(event), stretch: since };
  });
  map.addEventListener("pointermove", (event) => {
    if (grip !== undefined) move(grip.kind, shareOf(event), grip.stretch, grip.from);
  });
  for (const name of ["pointerup", "pointercancel"] as const) map.addEventListener(name, () => (grip = undefined));

  const onKey = (kind: Grip, event: KeyboardEvent): void => {
    const sign = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (sign === 0) return;
    event.preventDefault();
    move(kind, sign * (event.shiftKey ? 0.1 : 0.01), stretch(), 0);
  };

  let drawn: string | undefined;
  const draw = (): void => {
    if (width === 0) return;
    drawn = kindOf();
    const painter = new CanvasPainter(canvas, width, mapHeight);
    canvas.style.height = `${mapHeight}px`;
    const sample = axis.sample(bands, whole, plot(), kindOf());
    const highest = sample.highestBytes.reduce((a, b) => Math.max(a, b), 1);
    const x = new Float64Array(2 * sample.count);
    const y = new Float64Array(2 * sample.count);
    for (let i = 0; i < sample.count; i++) {
      x[2 * i] = left + (i / sample.count) * plot();
      x[2 * i + 1] = left + ((i + 1) / sample.count) * plot();
      y[2 * i] = y[2 * i + 1] = mapHeight - (sample.highestBytes[i] / highest) * (mapHeight - 4);
    }
    painter.area(x, y, new Float64Array(x.length).fill(mapHeight), token("--quiet"));
  };
  onThemeChange(draw);
  return {
    element: map,
    resize: (next) => {
      if (next === width) return;
      width = next;
      draw();
      place();
    },
    show: () => {
      if (drawn !== kindOf()) draw();
      place();
    },
  };

  function place(): void {
    const { from, to } = stretch();
    const x = (op: number): number => left + axis.placeOf(op, whole, kindOf()) * plot();
    middle.style.transform = `translateX(${x(from)}px)`;
    middle.style.width = `${Math.max(2, x(to) - x(from))}px`;
    start.style.transform = `translateX(${x(from) - 12}px)`;
    end.style.transform = `translateX(${x(to)}px)`;
    start.setAttribute("aria-valuenow", String(from));
    end.setAttribute("aria-valuenow", String(to));
    map.classList.toggle("whole", from === 0 && to === axis.count);
  }
}
