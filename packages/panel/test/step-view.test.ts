import { heldPeak } from "@remat/memory";
import { Category, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import { showMemory } from "../src/index.js";
import { viewStep } from "../src/step-view.js";

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

test("there is none without a page, nor for other options", () => {
  expect(() => showMemory()).toThrow(expect.objectContaining({ code: "NO_PAGE" }));
  expect(() => showMemory({ steps: 0 })).toThrow(expect.objectContaining({ code: "ARGUMENT" }));
  expect(() => showMemory({ wide: true } as never)).toThrow(expect.objectContaining({ code: "ARGUMENT" }));
});
