import type { TimelineModel } from "./timeline-model.js";

export const timelineKeys =
  "Arrow keys move it, Shift moves it further, plus and minus zoom, Page Up and Page Down pan, P goes to the peak, Escape shows everything.";

/** Makes all pointer actions available by keys. */
export function followKeys(canvas: HTMLCanvasElement, model: TimelineModel): void {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { current, axis, peak } = model;
    const stretch = model.stretch();
    const step = Math.max(1, Math.round((event.shiftKey ? 0.1 : 1 / model.plotWidth) * (stretch.to - stretch.from)));
    const place = axis.placeOf(current, stretch, model.context.store.state.axis);
    const around = place >= 0 && place <= 1 ? place : 0.5;
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => model.moveTo(current - step),
      ArrowRight: () => model.moveTo(current + step),
      ArrowDown: () => model.moveTo(current - 1),
      ArrowUp: () => model.moveTo(current + 1),
      Home: () => model.moveTo(0),
      End: () => model.moveTo(axis.count - 1),
      PageUp: () => model.pan(-0.5),
      PageDown: () => model.pan(0.5),
      "+": () => model.zoom(0.5, around),
      "=": () => model.zoom(0.5, around),
      "-": () => model.zoom(2, around),
      p: () => model.moveTo(peak),
      Escape: () => model.context.store.update({ from: 0, to: -1, op: -1 }),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
}
