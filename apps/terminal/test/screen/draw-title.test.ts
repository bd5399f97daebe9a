import fc from "fast-check";
import { expect, it } from "vitest";
import { drawTitle } from "../../src/screen/draw-title.js";
import type { ClickTarget } from "../../src/text/drawn.js";
import { lineWidth } from "../../src/text/line.js";
import { viewNames, views } from "../../src/views/views.js";
import { makeApp } from "../app/make-app.js";
import { transformer } from "../traces.js";

const trace = await transformer();

function titleOf(columns: number, view: string, name: string, ascii = false) {
  const { app } = makeApp({ view, ascii, size: { columns, rows: 24 } });
  app.show(name, undefined, trace);
  const { lines, regions } = drawTitle(app.views, app.state, { columns, rows: 30 });
  return { lines, regions, texts: lines.map((line) => line.map(({ text }) => text).join("")) };
}

it("names all views whole where they fit, the one that is on always, and what is shown whole", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 60, max: 200 }),
      fc.constantFrom(...viewNames),
      fc.stringMatching(/^[a-z]{1,40}$/),
      fc.boolean(),
      (columns, view, name, ascii) => {
        const { lines, texts, regions } = titleOf(columns, view, name, ascii);
        for (const line of lines) expect(lineWidth(line)).toBe(columns);
        const tabs = regions.map(({ x, width, y }) => texts[y].slice(x, x + width));
        for (const [i, { name: of, title, shortTitle = title }] of views.entries()) {
          const [, key, told] = /^ ?(\d)\s*(.*?) ?$/.exec(tabs[i])!;
          expect(key).toBe(`${i + 1}`);
          expect([title, ...(of === view ? [] : [shortTitle])]).toContain(told);
          // Only who has a long name to show beside them shortens those of views.
          if (columns >= 80 && name.length <= 10) expect(told).toBe(title);
          expect(regions[i].target).toEqual({ kind: "view", number: i } satisfies ClickTarget);
        }
        // Only the beginning may be cut off, and the rest stays long enough to recognize the name.
        expect(texts.join("\n")).toMatch(name.slice(-14));
        if (columns >= 120 && name.length <= 14) expect(texts.join("\n")).toContain(name);
      },
    ),
  );
});

it("is three lines where there is room for the name of what is shown in neither of two", () => {
  expect(titleOf(60, "tradeOff", "net").lines).toHaveLength(3);
  expect(titleOf(60, "tradeOff", "net").texts[1].trim()).toBe("net · a100");
  for (const columns of [80, 100, 120]) expect(titleOf(columns, "tradeOff", "net").lines).toHaveLength(2);
});
