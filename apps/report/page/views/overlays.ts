import { formatBytes } from "@remat/reporting";
import type { Overlay } from "../../src/data/report-meta.js";
import { h, s } from "../dom.js";
import type { PageContext } from "../page-context.js";
import type { PageState } from "../state.js";
import { token } from "../theme.js";

const dashes: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [10, 3, 2, 3]];

/** Returns the colour of an overlay. Overlays also differ in their dashes. */
export function overlayColour(index: number): string {
  return token(`--overlay-${index % 6}`);
}

export function overlayDash(index: number): readonly number[] {
  return dashes[index % dashes.length];
}

/** Returns the keys of the visible overlays. */
export function shownOverlayKeys({ overlays }: PageState, all: readonly Overlay[]): ReadonlySet<string> {
  return new Set(
    overlays === "given" ? all.flatMap(({ key, isGiven }) => (isGiven ? [key] : [])) : overlays.split(","),
  );
}

/** Creates checkboxes for the overlays of the timeline. */
export function overlayChoice({ overview, store }: PageContext): {
  readonly element: HTMLElement | false;
  show(state: PageState): void;
} {
  const { overlays } = overview.meta;
  if (overlays.length === 0) return { element: false, show: () => {} };
  const boxes = overlays.map((overlay, i) => {
    const input = h("input", { type: "checkbox", name: "overlay", value: overlay.key, onchange: () => choose() });
    const label = h(
      "label",
      { title: `${overlay.note}; peak ${formatBytes(overlay.peakBytes)}` },
      input,
      s(
        "svg",
        { class: "dash", viewBox: "0 0 24 10", "aria-hidden": "true" },
        s("line", {
          x1: 1,
          x2: 23,
          y1: 5,
          y2: 5,
          class: `overlay-${i % 6}`,
          "stroke-width": 2.5,
          "stroke-dasharray": overlayDash(i).join(" "),
        }),
      ),
      h("span", {}, overlay.label),
    );
    return { input, label };
  });
  const choose = (): void =>
    store.update({
      overlays: boxes
        .filter(({ input }) => input.checked)
        .map(({ input }) => input.value)
        .join(","),
    });
  return {
    element: h("fieldset", { class: "choice wide" }, h("legend", {}, "Beside it"), ...boxes.map(({ label }) => label)),
    show: (state) => {
      const shown = shownOverlayKeys(state, overlays);
      for (const { input } of boxes) input.checked = shown.has(input.value);
    },
  };
}
