import { readFileSync } from "node:fs";
import { categoryColours } from "@remat/reporting";
import { expect, it } from "vitest";

const css = readFileSync(new URL("../page/styles/tokens.css", import.meta.url), "utf8");

/** Blocks of custom properties, in the order of the file. */
const blocks = Array.from(css.matchAll(/^\s*:root[^{]*\{([^}]*)\}/gm), ([, body]) =>
  Object.fromEntries(Array.from(body.matchAll(/--([\w-]+): ([^;]+);/g), ([, name, value]) => [name, value])),
);

it("gives each category the colour that it has everywhere", () => {
  const [light, darkBySystem, darkByChoice] = blocks;
  expect(darkBySystem).toEqual(darkByChoice);
  for (const [category, colour] of Object.entries(categoryColours)) {
    expect(light[`category-${category}`], category).toBe(colour.light);
    expect(darkByChoice[`category-${category}`], category).toBe(colour.dark);
    expect(css).toContain(`.category-${category} {`);
  }
  expect(Object.keys(darkByChoice).every((name) => Object.hasOwn(light, name))).toBe(true);
});
