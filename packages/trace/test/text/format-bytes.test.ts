import { describe, expect, it } from "vitest";
import {
  formatBytes,
  formatExactBytes,
  formatInUnit,
  formatTypedBytes,
  type MemoryUnit,
} from "../../src/text/index.js";

// Python: [v] + [f"{round(v / d, 2)} {u}" for u, d in units]
const table: readonly (readonly [number, string, string, string])[] = [
  [0, "0.0 KiB", "0.0 MiB", "0.0 GiB"],
  [1, "0.0 KiB", "0.0 MiB", "0.0 GiB"],
  [512, "0.5 KiB", "0.0 MiB", "0.0 GiB"],
  [1023, "1.0 KiB", "0.0 MiB", "0.0 GiB"],
  [1536, "1.5 KiB", "0.0 MiB", "0.0 GiB"],
  [15360, "15.0 KiB", "0.01 MiB", "0.0 GiB"],
  [131072, "128.0 KiB", "0.12 MiB", "0.0 GiB"],
  [393216, "384.0 KiB", "0.38 MiB", "0.0 GiB"],
  [655360, "640.0 KiB", "0.62 MiB", "0.0 GiB"],
  [1048576, "1024.0 KiB", "1.0 MiB", "0.0 GiB"],
  [1179648, "1152.0 KiB", "1.12 MiB", "0.0 GiB"],
  [123456789, "120563.27 KiB", "117.74 MiB", "0.11 GiB"],
  [3355443200, "3276800.0 KiB", "3200.0 MiB", "3.12 GiB"],
  [7185158144, "7016756.0 KiB", "6852.3 MiB", "6.69 GiB"],
  [41342153895, "40373197.16 KiB", "39426.95 MiB", "38.5 GiB"],
  [1000000000003, "976562500.0 KiB", "953674.32 MiB", "931.32 GiB"],
  [1099511640121, "1073741836.06 KiB", "1048576.01 MiB", "1024.0 GiB"],
];

describe("formatInUnit", () => {
  it.each(table)("prints %i as Python does", (bytes, ...expected) => {
    const units: readonly MemoryUnit[] = ["KiB", "MiB", "GiB"];
    expect(units.map((unit) => formatInUnit(bytes, unit))).toEqual(expected);
    expect(formatInUnit(bytes, "B")).toBe(`${bytes} B`);
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B", "0B"],
    [1, "1 B", "1B"],
    [1023, "1023 B", "1023B"],
    [1024, "1 KiB", "1024B (1 KiB)"],
    [1536, "1.5 KiB", "1536B (1.5 KiB)"],
    [1537, "1.501 KiB", "1537B (1.501 KiB)"],
    [1_027_384, "1003.3 KiB", "1027384B (1003.3 KiB)"],
    [1_048_575, "1024.0 KiB", "1048575B (1024.0 KiB)"],
    [1_572_865, "1.500 MiB", "1572865B (1.500 MiB)"],
    [123_456_789, "117.7 MiB", "123456789B (117.7 MiB)"],
    [7_185_158_144, "6.692 GiB", "7185158144B (6.692 GiB)"],
    [2 ** 50, "1024 TiB", "1125899906842624B (1024 TiB)"],
    [-1536, "-1.5 KiB", "-1536B (-1.5 KiB)"],
  ])("writes %i for reading, and for typing", (bytes, read, typed) => {
    expect([formatBytes(bytes), formatTypedBytes(bytes)]).toEqual([read, typed]);
  });
});

describe("formatExactBytes", () => {
  it.each([
    [0, "0B"],
    [1023, "1023B"],
    [1536, "1536B"],
    [2048, "2KiB"],
    [80 * 2 ** 30, "80GiB"],
    [80 * 2 ** 30 + 1, "85899345921B"],
    [2 ** 41, "2TiB"],
  ])("writes %i in the largest unit that says all of it", (bytes, expected) => {
    expect(formatExactBytes(bytes)).toBe(expected);
  });
});
