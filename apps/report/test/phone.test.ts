/// <reference lib="dom" />
import { answerUsualWhatIfs, stepsAtHand } from "@remat/fit";
import { judgeMemory, type WhatIfRow } from "@remat/reporting";
import { deviceSpec } from "@remat/runtime-estimator";
import { afterAll, describe, expect, it } from "vitest";
import { makeReport, renderReport } from "../src/index.js";
import { browserPath, closeBrowser, openReport } from "./open-report.js";
import { exampleTrace } from "./traces.js";

afterAll(closeBrowser);

describe.runIf(browserPath !== "")("on a phone", () => {
  it("every table of the summary is whole, and a command is broken between its words only", {
    timeout: 120_000,
  }, async () => {
    const trace = await exampleTrace("resnet50", { batch: 16, optimizer: "adam" });
    const device = deviceSpec("a100");
    const whatIfs: WhatIfRow[] = [];
    const steps = stepsAtHand([{ name: "resnet50", trace }]);
    for await (const row of answerUsualWhatIfs({ trace, steps, device, pricedFor: device })) whatIfs.push(row);
    const command = "remat run examples/keras/resnet50.model.json --batch 16 --early-release";
    const judged = judgeMemory(trace, { device });
    if (judged === undefined) throw new Error("expected a verdict");
    const verdict = { ...judged, command };
    const made = await makeReport(trace, { title: "resnet50", planIterations: 20, verdict, whatIfs });
    const { page, faults } = await openReport(renderReport(made), "", { viewport: { width: 360, height: 780 } });
    await page.waitForSelector("#ops .ops-grid .body .row");
    const cut = await page.$$eval("#summary .columns > *", (boxes) =>
      boxes
        .filter((box) => box.scrollWidth > box.clientWidth)
        .map((box) => [box.querySelector("h3")?.textContent, box.scrollWidth, box.clientWidth]),
    );
    expect(cut).toEqual([]);
    const words = await page.$$eval(".answers code span", (spans) =>
      spans.map((span) => ({ text: span.textContent ?? "", height: span.getBoundingClientRect().height })),
    );
    expect(words.map(({ text }) => text).join(" ")).toBe(command);
    expect(new Set(words.map(({ height }) => height)).size).toBe(1);
    // What to type is in sight, right below whether it fits.
    const tops = await page.$$eval(".answers > div", (boxes) =>
      boxes.map((box) => ({ text: box.querySelector("dt")?.textContent, bottom: box.getBoundingClientRect().bottom })),
    );
    const order = tops.toSorted((a, b) => a.bottom - b.bottom);
    expect(order.slice(0, 2).map(({ text }) => text)).toEqual(["Does it fit?", "What to type next"]);
    expect(order[1].bottom).toBeLessThan(780);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
