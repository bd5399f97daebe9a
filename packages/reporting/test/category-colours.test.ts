import { categoryNames } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { categoryLabels } from "../src/category-colours.js";
import { type Colour, categoryColours, categoryStack, seriesColours } from "../src/index.js";

type Rgb = readonly [number, number, number];

/** Colour vision deficiencies after Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB. */
const visions: Readonly<Record<string, readonly number[]>> = {
  normal: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

function linear(hex: string): Rgb {
  const channel = (at: number): number => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function seen([r, g, b]: Rgb, m: readonly number[]): Rgb {
  const clamp = (value: number): number => Math.max(0, Math.min(1, value));
  return [
    clamp(m[0] * r + m[1] * g + m[2] * b),
    clamp(m[3] * r + m[4] * g + m[5] * b),
    clamp(m[6] * r + m[7] * g + m[8] * b),
  ];
}

function oklab([r, g, b]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

const luminance = ([r, g, b]: Rgb): number => 0.2126 * r + 0.7152 * g + 0.0722 * b;
const contrast = (a: number, b: number): number => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

/** Backgrounds of the report. */
const backgrounds = { light: "#ffffff", dark: "#171b21" } as const;

const together = [
  ["activation", "temporary", "gradient", "parameter", "optimizerState", "buffer", "input", "other"],
  [
    "shardedParameter",
    "unshardedParameter",
    "shardedGradient",
    "unshardedGradient",
    "activation",
    "temporary",
    "allGather",
    "reduceScatter",
    "optimizerState",
    "buffer",
    "input",
  ],
] as const;

describe.each(["light", "dark"] as const)("colours on a %s background", (theme) => {
  const colourOf = (colour: Colour): string => colour[theme];

  it("have a contrast of 3 : 1 or more", () => {
    const background = luminance(linear(backgrounds[theme]));
    for (const name of categoryNames)
      expect(contrast(luminance(linear(colourOf(categoryColours[name]))), background), name).toBeGreaterThan(3);
  });

  it.each(Object.keys(visions))("can be told apart with %s", (vision) => {
    // A difference of 0.02 is just noticeable; plain categories are five times as far apart, FSDP's three times.
    for (const [set, least] of [
      [together[0], 0.1],
      [together[1], 0.06],
    ] as const) {
      const colours = set.map((name) => oklab(seen(linear(colourOf(categoryColours[name])), visions[vision])));
      for (const [i, a] of colours.entries())
        for (const [j, b] of colours.slice(0, i).entries())
          expect(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), `${set[i]} and ${set[j]}`).toBeGreaterThan(least);
    }
  });
});

it("has a label and a place in the stack for every category", () => {
  expect([...categoryStack].sort()).toEqual([...categoryNames].sort());
  expect(Object.keys(categoryLabels).sort()).toEqual([...categoryNames].sort());
  expect(new Set(Object.values(categoryLabels)).size).toBe(categoryNames.length);
  expect(new Set(seriesColours.map(({ light }) => light)).size).toBe(seriesColours.length);
});
