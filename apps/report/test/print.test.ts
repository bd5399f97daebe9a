import { answerUsualWhatIfs, stepsAtHand } from "@remat/fit";
import { parseShardingPlan } from "@remat/mem-tracker/fsdp";
import { planCheckpointing } from "@remat/planner";
import { judgeMemory, type WhatIfRow } from "@remat/reporting";
import { deviceSpec } from "@remat/runtime-estimator";
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

/** All that `remat report` tells of a model. */
async function exampleReport(
  name: string,
  batch: number,
  planning: Partial<MakeReportOptions>,
): Promise<readonly [Trace, Partial<MakeReportOptions>]> {
  const trace = await exampleTrace(name, { batch, optimizer: "adam" });
  const device = deviceSpec("a100");
  const whatIfs: WhatIfRow[] = [];
  const steps = stepsAtHand([{ name, trace }]);
  for await (const row of answerUsualWhatIfs({ trace, steps, device, pricedFor: device })) whatIfs.push(row);
  return [trace, { from: "model", ...planning, verdict: judgeMemory(trace, { device }), whatIfs }];
}

describe.runIf(browserPath !== "")("on paper", () => {
  it.each<[string, () => Promise<readonly [Trace, Partial<MakeReportOptions>]>]>([
    ["ResNet-50", () => exampleReport("resnet50", 16, { planIterations: 20 })],
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
  ])("is two pages of A4: %s", { timeout: 120_000 }, async (title, give) => {
    const [trace, options] = await give();
    const html = renderReport(await makeReport(trace, { title, ...options }));
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
