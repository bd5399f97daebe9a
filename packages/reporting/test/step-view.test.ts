import { heldPeak } from "@remat/memory";
import { Category, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import { viewStep } from "../src/index.js";

const begin = () => new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });

test("a step without ops is none", () => {
  expect(viewStep(begin().build())).toBeUndefined();
});

test("bands add up to what is held, and the peak to its categories", () => {
  const sizes = fc.array(fc.record({ bytes: fc.integer({ min: 4, max: 4000 }), isFreed: fc.boolean() }), {
    minLength: 1,
    maxLength: 100,
  });
  fc.assert(
    fc.property(sizes, (made) => {
      const b = begin();
      const weight = b.tensor({ storage: b.allocate(64, "cpu", Category.parameter), dtype: "float32", shape: [16] });
      for (const { bytes, isFreed } of made) {
        const storage = b.allocate(bytes, "cpu", isFreed ? Category.temporary : Category.activation);
        const out = b.tensor({ storage, dtype: "float32", shape: [bytes] });
        b.op({ name: "Relu", inputs: [weight], outputs: [out] });
        if (isFreed) b.free(storage);
      }
      const trace = b.build();
      const view = viewStep(trace);
      const { peakBytes } = heldPeak(trace);
      expect(view?.peakBytes).toBe(peakBytes);
      expect(view?.categories.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(peakBytes);
      expect(Math.max(...(view?.highestBytes ?? []))).toBe(peakBytes);
      view?.highestBytes.forEach((highest, column) => {
        let held = 0;
        for (const band of view.bands.values()) held += band[column];
        expect(held).toBeLessThanOrEqual(highest);
      });
    }),
  );
});

test("equal storages of one maker are one row, with how many they are and the line that they come from", () => {
  const b = begin();
  const weight = b.tensor({ storage: b.allocate(64, "cpu", Category.parameter), dtype: "float32", shape: [16] });
  for (const bytes of [400, 800, 400, 400]) {
    const storage = b.allocate(bytes, "cpu", Category.activation);
    b.op({
      name: "Relu",
      inputs: [weight],
      outputs: [b.tensor({ storage, dtype: "float32", shape: [bytes / 4] })],
      line: "train.js:7",
    });
  }
  const view = viewStep(b.build());
  expect(view?.largest.map(({ count, bytes, shape, line }) => [count, bytes, shape, line])).toEqual([
    [3, 1200, "float32 [100]", "train.js:7"],
    [1, 800, "float32 [200]", "train.js:7"],
    [1, 64, "float32 [16]", undefined],
  ]);
  expect(view).toMatchObject({ peakOp: "Relu", peakLine: "train.js:7" });
});
