import { expect, it } from "vitest";
import { formatBytes, formatMs, formatPercent } from "../src/index.js";

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
  expect(formatPercent(0.12345)).toBe("12.3%");
});
