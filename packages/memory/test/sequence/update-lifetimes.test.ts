import {
  Category,
  gradientsEndMark,
  gradientsStartMark,
  minimizeUpdateStartMark,
  Phase,
  TraceBuilder,
  updateEndMark,
  updateStartMark,
} from "@remat/trace";
import { expect, test } from "vitest";
import { heldPeak } from "../../src/index.js";
import { unrecomputedPeakBytes } from "../../src/sequence/index.js";

/** A step whose update makes 100 + 100 bytes on the way to new weights of 50, with the mark before it. */
function step(startMark: string | undefined, keepsGradient = false) {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  const make = (bytes: number, category: number) => {
    const storage = b.allocate(bytes, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [bytes] }) };
  };
  const op = (phase: number, inputs: { tensor: number }[], outputs: { tensor: number }[]) =>
    b.op({
      name: "Kernel",
      phase,
      inputs: inputs.map(({ tensor }) => tensor),
      outputs: outputs.map(({ tensor }) => tensor),
      runtimeMs: 1,
    });
  const weight = make(50, Category.parameter);
  b.mark(gradientsStartMark);
  const loss = make(1, Category.activation);
  op(Phase.forward, [weight], [loss]);
  const gradient = make(50, Category.gradient);
  op(Phase.backward, [loss], [gradient]);
  b.free(loss.storage);
  b.mark(gradientsEndMark);
  if (startMark !== undefined) b.mark(startMark);
  const first = make(100, Category.temporary);
  op(Phase.optimizer, [gradient], [first]);
  const second = make(100, Category.temporary);
  op(Phase.optimizer, [first], [second]);
  // It is a variable for a while, whatever reads it last.
  const slot = make(50, Category.temporary);
  op(Phase.optimizer, [second], [slot]);
  b.categorize(slot.storage, Category.optimizerState);
  const updated = make(50, Category.temporary);
  op(Phase.optimizer, [second, slot], [updated]);
  b.categorize(updated.storage, Category.parameter);
  b.free(weight.storage);
  b.free(first.storage);
  b.free(second.storage);
  if (startMark !== undefined) b.mark(updateEndMark);
  if (!keepsGradient) b.free(gradient.storage);
  op(Phase.outside, [updated], [make(1, Category.other)]);
  if (keepsGradient) b.free(gradient.storage);
  return b.build();
}

test.each([
  ["recorded as it was", undefined, false, 50 + 50 + 100 + 100 + 50 + 50],
  ["by an optimizer of tfjs's", updateStartMark, false, 50 + 50 + 100 + 100],
  ["in minimize, which owns the gradients", minimizeUpdateStartMark, false, 50 + 100 + 100],
  ["in minimize, of a gradient that somebody keeps", minimizeUpdateStartMark, true, 50 + 50 + 100 + 100],
] as const)("an update %s holds", (_, startMark, keepsGradient, expected) => {
  const trace = step(startMark, keepsGradient);
  expect(heldPeak(trace).peakBytes).toBe(400);
  expect(unrecomputedPeakBytes(trace)).toBe(expected);
});
