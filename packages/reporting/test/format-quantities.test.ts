import { expect, it } from "vitest";
import { formatBytes, formatEstimatedMs, formatMs, formatPercent } from "../src/index.js";

it("writes quantities for people", () => {
  expect([0, 1023, 1024, 1536, 5 * 2 ** 30, 1023.99 * 2 ** 20, 2 ** 60].map(formatBytes)).toEqual([
    "0 B",
    "1023 B",
    "1 KiB",
    "1.5 KiB",
    "5 GiB",
    "1024.0 MiB",
    "1048576 TiB",
  ]);
  expect([0, 0.00001, 0.0123, 0.9999, 1, 12.345678, 999.99, 61_234].map(formatMs)).toEqual([
    "0 ms",
    "0.01 µs",
    "12.3 µs",
    "0.9999 ms",
    "1 ms",
    "12.35 ms",
    "1 s",
    "61.23 s",
  ]);
  expect(
    [0, 0.008104, 0.0123, 0.994, 0.996, 1, 12.345678, 123.4, 994, 996, 61_234, 612_345].map(formatEstimatedMs),
  ).toEqual(["0 ms", "8.1 µs", "12 µs", "990 µs", "1 ms", "1 ms", "12 ms", "120 ms", "990 ms", "1 s", "61 s", "610 s"]);
  expect(formatPercent(0.12345)).toBe("12.3%");
});
