import { byId, fill } from "../dom.js";

/** Shows text near a point, in the page's only tooltip. */
export function showTooltip(x: number, y: number, ...children: Parameters<typeof fill>[1][]): void {
  const tooltip = byId("tooltip");
  fill(tooltip, ...children);
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? Math.max(4, x - width - 14) : x + 14;
  const top = y + 14 + height > innerHeight ? Math.max(4, y - height - 14) : y + 14;
  tooltip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

export function hideTooltip(): void {
  byId("tooltip").hidden = true;
}
