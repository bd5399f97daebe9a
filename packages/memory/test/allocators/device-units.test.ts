import { Category, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import { allocatedSizes, roundUpBytes, unitBytesOn } from "../../src/allocators/device-units.js";

test("sizes are rounded up to a unit", () => {
  expect([0, 1, 511, 512, 513, 2 ** 40 + 1].map((bytes) => roundUpBytes(bytes, 512))).toEqual([
    0,
    512,
    512,
    512,
    1024,
    2 ** 40 + 512,
  ]);
  expect(roundUpBytes(7, 1)).toBe(7);
});

test("a size becomes the smallest multiple of the unit that holds it", () => {
  fc.assert(
    fc.property(fc.nat(1 << 30), fc.integer({ min: 1, max: 4096 }), (bytes, unitBytes) => {
      const rounded = roundUpBytes(bytes, unitBytes);
      expect(rounded % unitBytes).toBe(0);
      expect(rounded - bytes).toBeGreaterThanOrEqual(0);
      expect(rounded - bytes).toBeLessThan(unitBytes);
    }),
  );
});

test("allocations are rounded on every device of the traced kind, and on no other", () => {
  const header = { device: "cuda:0", allocationUnitBytes: 512 };
  expect(unitBytesOn("cuda:1", header)).toBe(512);
  expect(unitBytesOn("cpu", header)).toBe(1);
  const b = new TraceBuilder({ framework: "pytorch", mode: "fake", ...header });
  b.allocate(4, "cuda:0", Category.parameter);
  b.allocate(4, "cpu", Category.parameter);
  b.allocate(513, "cuda:1", Category.input);
  expect([...allocatedSizes(b.build())]).toEqual([512, 4, 1024]);
});
