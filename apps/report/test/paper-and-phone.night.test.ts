/// <reference lib="dom" />
import { answerUsualWhatIfs, stepsAtHand } from "@remat/fit";
import { planCheckpointing } from "@remat/planner";
import { type WhatIfRow } from "@remat/reporting";
import { judgeMemory } from "@remat/reporting/verdict";
import { deviceSpec } from "@remat/runtime-estimator";
import { parseShardingPlan } from "@remat/sharding";
import { sampledCases } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { type MakeReportOptions, makeReport, planAsTrace, renderReport } from "../src/index.js";
import { browserPath, closeBrowser, openReport } from "./open-report.js";
import { exampleTrace, goldenTrace, stepTrace } from "./traces.js";

afterAll(closeBrowser);

const transformer = goldenTrace("mem_02_transformer_adam");

/** Pages of a PDF, which lists each as an object. */
const pagesOf = (pdf: Buffer): number => pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;

const planned = async () => {
  const { point } = await planCheckpointing(transformer, { budgetFraction: 0.9, iterations: 300, boundTimeMs: 0 });
  return { name: "plan.json", plan: point!.plan };
};

type Planning = Omit<MakeReportOptions, "title">;

/** A complete report on a model, as `remat report` makes it. */
async function exampleReport(name: string, batch: number, options: Planning, command?: string): Promise<string> {
  const trace = await exampleTrace(name, { batch, optimizer: "adam" });
  const device = deviceSpec("a100");
  const whatIfs: WhatIfRow[] = [];
  const steps = stepsAtHand([{ name, trace }]);
  for await (const row of answerUsualWhatIfs({ trace, steps, device, pricedFor: device })) whatIfs.push(row);
  const judged = judgeMemory(trace, { device })!;
  const verdict = command === undefined ? judged : { ...judged, command };
  return htmlOf(trace, { title: name, from: "model", ...options, verdict, whatIfs });
}

const command = "remat run examples/keras/resnet50.model.json --batch 16 --early-release";
const htmlOf = async (trace: Trace, options: MakeReportOptions): Promise<string> =>
  renderReport(await makeReport(trace, options));

let resnet50: Promise<string> | undefined;
/** Made once, since planning it takes a while. */
const resnet50Html = (): Promise<string> =>
  (resnet50 ??= exampleReport("resnet50", 16, { planIterations: 20 }, command));

describe.runIf(browserPath !== "")("on paper", () => {
  const papers: readonly [string, () => Promise<string | readonly [Trace, Planning]>][] = [
    ["ResNet-50", resnet50Html],
    ["GPT-3", () => exampleReport("gpt-3", 1, { planTimeMs: 0 })],
    ["a recorded run", async () => [transformer, { planIterations: 500 }]],
    ["a step of 900 modules", async () => [stepTrace({ layers: 900 }), { planTimeMs: 0 }]],
    [
      "a rank of many",
      async () => [
        goldenTrace("mem_tf_b2_adam"),
        { planTimeMs: 0, fsdp: { name: "world=4", plan: parseShardingPlan("world=4,reshard") } },
      ],
    ],
    ["a plan over its run", async () => [transformer, { planTimeMs: 0, plan: await planned() }]],
    [
      "two runs",
      async () => [
        transformer,
        { planTimeMs: 0, compare: { name: "checkpointed", trace: goldenTrace("mem_02_transformer_ac_adam") } },
      ],
    ],
    [
      "a plan alone",
      async () => {
        const planAlone = await planned();
        return [planAsTrace(planAlone.plan), { planTimeMs: 0, planAlone }];
      },
    ],
  ];
  it.each(sampledCases(papers, 2))("is two pages of A4: %s", async (title, give) => {
    const given = await give();
    const html = typeof given === "string" ? given : await htmlOf(given[0], { title, ...given[1] });
    for (const viewport of [
      { width: 1280, height: 900 },
      { width: 360, height: 780 },
    ]) {
      const { page, faults } = await openReport(html, "", { viewport });
      await page.waitForSelector("#ops .ops-grid .body .row");
      expect(pagesOf(await page.pdf({ preferCSSPageSize: true })), `${viewport.width} px`).toBe(2);
      expect(faults).toEqual([]);
      await page.context().close();
    }
  });
});

describe.runIf(browserPath !== "")("on a phone", () => {
  it("every table of the summary is whole, and a command is broken between its words only", {
    timeout: 120_000,
  }, async () => {
    const { page, faults } = await openReport(await resnet50Html(), "", { viewport: { width: 360, height: 780 } });
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
    // The command is visible, right below the answer whether it fits.
    const tops = await page.$$eval(".answers > div", (boxes) =>
      boxes.map((box) => ({ text: box.querySelector("dt")?.textContent, bottom: box.getBoundingClientRect().bottom })),
    );
    const order = tops.toSorted((a, b) => a.bottom - b.bottom);
    expect(order.slice(0, 2).map(({ text }) => text)).toEqual(["Does it fit?", "Next command"]);
    expect(order[1].bottom).toBeLessThan(780);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
