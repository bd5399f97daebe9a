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
import { freedByUpdates } from "../../src/sequence/update-lifetimes.js";

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

/** The op after which an update frees a storage that is made and read as told; the ops are numbered in their order. */
function freedAfter(life: {
  readonly startMark?: string;
  /** Category of a storage from before the update; without it, the update creates the storage. */
  readonly before?: number;
  readonly maker?: number;
  readonly lastReader: number;
  readonly becomes?: number;
  readonly freed?: "inside" | "at the end" | "after an op";
}): number {
  const { startMark = minimizeUpdateStartMark, before, maker = 1, lastReader, becomes, freed = "inside" } = life;
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  const made = before === undefined ? -1 : b.allocate(4, "cpu", before);
  b.op({ name: "Backward", phase: Phase.backward });
  b.mark(startMark);
  const storage = before === undefined ? b.allocate(4, "cpu", Category.temporary) : made;
  b.op({ name: "First", phase: Phase.optimizer });
  if (becomes !== undefined) b.categorize(storage, becomes);
  b.op({ name: "Second", phase: Phase.optimizer });
  if (freed === "inside") b.free(storage);
  b.mark(updateEndMark);
  if (freed === "at the end") b.free(storage);
  b.op({ name: "Outside", phase: Phase.outside });
  if (freed === "after an op") b.free(storage);
  return freedByUpdates(b.build(), Int32Array.of(maker), Int32Array.of(lastReader))[storage];
}

test.each([
  ["what it makes, after the op that reads it last", { lastReader: 2 }, 2],
  ["what nothing reads, after the op that makes it", { lastReader: -1 }, 1],
  ["what is disposed of at its very end", { lastReader: 2, freed: "at the end" }, 2],
  ["nothing that is disposed of once another op has run", { lastReader: 2, freed: "after an op" }, -1],
  ["nothing that no op has made", { maker: -1, lastReader: 2 }, -1],
  [
    "nothing that has become a variable, though it is disposed of",
    { lastReader: 2, becomes: Category.optimizerState },
    -1,
  ],
  ["nothing that was there before", { maker: 0, lastReader: 2, before: Category.activation }, -1],
  ["no variable", { maker: 0, lastReader: 2, before: Category.parameter }, -1],
  ["the gradients of minimize", { maker: 0, lastReader: 2, before: Category.gradient }, 2],
  ["what becomes a gradient", { maker: 0, lastReader: 2, before: Category.temporary, becomes: Category.gradient }, 2],
  ["a gradient that its first op reads last", { maker: 0, lastReader: 1, before: Category.gradient }, 1],
  ["no gradient that it does not read", { maker: 0, lastReader: 0, before: Category.gradient }, -1],
  [
    "no gradient of somebody else's",
    { startMark: updateStartMark, maker: 0, lastReader: 2, before: Category.gradient },
    -1,
  ],
  ["nothing without an update", { startMark: "else", lastReader: 2 }, -1],
] as const)("an update frees %s", (_, life, expected) => {
  expect(freedAfter(life)).toBe(expected);
});
