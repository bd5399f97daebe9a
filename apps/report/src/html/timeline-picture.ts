import { memoryTimeline, tellsLifetimes } from "@remat/memory";
import { categoryBands, formatBytes, sampleBands } from "@remat/reporting";
import type { Trace } from "@remat/trace";
import { type Html, html } from "@remat/trace/emit";

/** Draws a static picture of memory over the ops, for readers without JavaScript. */
export function timelinePicture(trace: Trace): Html {
  if (!tellsLifetimes(trace) || trace.ops.count === 0) return html``;
  const bands = categoryBands(memoryTimeline(trace));
  const sample = sampleBands(bands, { buckets: 240 });
  const peak = Math.max(1, ...sample.highestBytes);
  const x = (i: number): string => ((i / Math.max(1, sample.count - 1)) * 960).toFixed(1);
  const y = (bytes: number): string => (240 - (bytes / peak) * 240).toFixed(1);
  const base = new Float64Array(sample.count);
  const paths = sample.bands.map((bytes, b) => {
    const lower = Array.from(base, (value, i) => `${x(i)} ${y(value)}`).reverse();
    for (let i = 0; i < base.length; i++) base[i] += bytes[i];
    const upper = Array.from(base, (value, i) => `${x(i)} ${y(value)}`);
    return html`<path class="category-${bands.bands[b].key}" d="M${upper.join("L")}L${lower.join("L")}Z"><title>${bands.bands[b].label}</title></path>`;
  });
  return html`<noscript><figure><svg class="still" viewBox="0 0 960 240" role="img" aria-label="Memory over the ops of the step, by category; peak ${formatBytes(peak)}">${paths}</svg><figcaption>Memory over the ops of the step, by category; peak ${formatBytes(peak)}.</figcaption></figure></noscript>
`;
}
