import {
  categoryColours,
  categoryStack,
  labelCategory,
  type MemoryBand,
  type MemoryBands,
  type SampledBands,
  type StepView,
} from "@remat/reporting";

/** The bands of every step, so that a category always looks the same. */
const bands: readonly MemoryBand[] = categoryStack.map((category) => ({
  key: category,
  label: labelCategory(category),
  colour: categoryColours[category],
  bytes: new Float64Array(),
}));

/** Combines steps side by side, oldest first, into bands and the sample to draw. */
export function bandsOfSteps(steps: readonly StepView[]): {
  readonly bands: MemoryBands;
  readonly sample: SampledBands;
} {
  const joined = (column: (step: StepView) => Float64Array): Float64Array =>
    Float64Array.from(steps.flatMap((step) => [...column(step)]));
  const highestBytes = joined(({ highestBytes }) => highestBytes);
  const count = highestBytes.length;
  const sampled = categoryStack.map((category) =>
    joined((step) => step.bands.get(category) ?? new Float64Array(step.highestBytes.length)),
  );
  const totalBytes = Float64Array.from({ length: count }, (_, i) => sampled.reduce((sum, band) => sum + band[i], 0));
  return {
    bands: { by: "category", count, bands, totalBytes, highestBytes },
    sample: { count, op: Int32Array.from({ length: count }, (_, i) => i), bands: sampled, totalBytes, highestBytes },
  };
}
