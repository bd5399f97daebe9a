import { type FitAnswer, type FitSummary, pruneFit, type StepsToFit, summarizeFit, unitsOf } from "@remat/fit";
import { deviceSpec } from "@remat/runtime-estimator";
import axe from "axe-core";
import { afterAll, describe, expect, it } from "vitest";
import { renderFit } from "../src/index.js";
import { browserPath, closeBrowser, openReport } from "./open-report.js";

afterAll(closeBrowser);

const steps: StepsToFit = {
  name: "m",
  framework: "pytorch",
  stepAt: () => Promise.reject(new Error("nobody asks for steps here")),
};
const units = unitsOf(
  {
    devices: [deviceSpec("a100"), deviceSpec("l4"), deviceSpec("h100")],
    ranks: [1, 8],
    ways: ["stock", "recompute", "offload"],
  },
  steps,
);
const answers = units.map(({ configuration }, i): FitAnswer => {
  if (i === 0)
    return {
      kind: "not-fitting",
      configuration,
      smallest: { batch: 1, peakBytes: 99, binds: "activation", bindsBytes: 98, isProven: true },
    };
  if (i === 2) return { kind: "refused", configuration, reason: "<b>no</b>" };
  return {
    kind: "fits",
    row: {
      configuration,
      ...{ batch: i, peakBytes: (37 * i) % 19, bytesByCategory: {}, stepMs: 1, overhead: 0 },
      ...{ memoryBytes: 100, microBatches: 1, samplesPerSecond: (53 * i) % 23, next: undefined },
    },
  };
});
const summary = summarizeFit(units, answers, { model: "<i>m</i>", prices: { l4: 1 } });
const html = renderFit(summary, { notes: ["Times: roofline."] });

/** Batches of what is seen: all, those on the front, the best. */
const shown = (): string => {
  const of = (selector: string): string[] =>
    [...document.querySelectorAll<HTMLElement>(selector)]
      .filter((cell) => cell.checkVisibility() && !cell.classList.contains("out"))
      .map((cell) => cell.querySelector("strong")?.textContent ?? "")
      .sort();
  return JSON.stringify({ all: of("td[data-rank]"), front: of("td.front"), best: of("td.best") });
};

const expected = ({ rows, best }: FitSummary): string =>
  JSON.stringify({
    all: rows.map(({ batch }) => `${batch}`).sort(),
    front: rows
      .filter(({ isOnFront }) => isOnFront)
      .map(({ batch }) => `${batch}`)
      .sort(),
    best: best === undefined ? [] : [`${best.batch}`],
  });

describe.runIf(browserPath !== "")("the page of what fits", () => {
  it("shows all, and of what is left the best and the front that a search without the rest would find", async () => {
    const { page, faults } = await openReport(html);
    expect(await page.evaluate(shown)).toBe(expected(summary));
    const pruned = [];
    for (const [dimension, value] of [
      ["device", "h100"],
      ["way", "recompute"],
      ["ranks", "8 ranks"],
    ] as const) {
      await page.getByLabel(value, { exact: true }).uncheck();
      pruned.push({ dimension, value });
      const left = pruneFit(summary, pruned);
      expect(await page.evaluate(shown)).toBe(expected(left));
      if (left.best !== undefined)
        expect(await page.textContent("#best")).toContain(
          `batch ${left.best.batch} on ${left.best.configuration.device}`,
        );
    }
    expect(await page.locator("thead th:visible").allTextContents()).not.toContain("recompute");
    await page.getByLabel("h100", { exact: true }).check();
    expect(await page.evaluate(shown)).toBe(expected(pruneFit(summary, pruned.slice(1))));
    expect(faults).toEqual([]);
  });

  it("shows names as text, and can be read by anybody", async () => {
    const { page } = await openReport(html);
    expect(await page.locator("h1").textContent()).toBe("Configurations that fit: <i>m</i>");
    expect(await page.locator("td b, h1 i").count()).toBe(0);
    await page.addScriptTag({ content: axe.source });
    const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)).toEqual([]);
  });

  it("shows all of it without JavaScript", async () => {
    const { page } = await openReport(html, "", { javaScriptEnabled: false });
    expect(await page.locator("td[data-rank]:visible").count()).toBe(summary.rows.length);
    expect(await page.textContent("body")).toContain("JavaScript is off");
  });
});
