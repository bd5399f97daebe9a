import { readFileSync } from "node:fs";
import { categoryColours } from "@remat/reporting";
import { expect, it } from "vitest";

const css = readFileSync(new URL("../page/styles/tokens.css", import.meta.url), "utf8");

/** Custom properties that have a colour for each theme. */
const colours = Object.fromEntries(
  Array.from(css.matchAll(/--([\w-]+): light-dark\(([^,;]+), ([^,;]+)\);/g), ([, name, light, dark]) => [
    name,
    { light, dark },
  ]),
);

it("gives each category the colour that it has everywhere", () => {
  for (const [category, { light, dark }] of Object.entries(categoryColours)) {
    expect(colours[`category-${category}`], category).toEqual({ light, dark });
    expect(css).toContain(`.category-${category} {`);
  }
});
