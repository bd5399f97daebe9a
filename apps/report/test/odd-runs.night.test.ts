import { planCheckpointing } from "@remat/planner";
import { degenerateSample, sampledCases } from "@remat/testkit";
import { type Trace, TraceBuilder } from "@remat/trace";
import { afterAll, describe, expect, it } from "vitest";
import { makeReport, planAsTrace, renderReport } from "../src/index.js";
import { browserPath, closeBrowser, openReport } from "./open-report.js";
import { goldenTrace, stepTrace } from "./traces.js";

const header = { framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 } as const;

function withoutModules(): Trace {
  const b = new TraceBuilder(header);
  for (let i = 0; i < 3; i++) {
    const storage = b.allocate(100, "cpu");
    b.op({ name: "Add", outputs: [b.tensor({ storage, dtype: "uint8", shape: [100] })] });
    b.free(storage);
  }
  return b.build();
}

async function planAlone(): Promise<Trace> {
  const { point } = await planCheckpointing(stepTrace(), { budgetFraction: 0.9, iterations: 300, boundTimeMs: 0 });
  return planAsTrace(point!.plan);
}

const runs: Readonly<Record<string, () => Trace | Promise<Trace>>> = {
  "without an op": () => new TraceBuilder(header).build(),
  "without modules": withoutModules,
  "without lifetimes": () => goldenTrace("sac_02_transformer"),
  "that breaks off": () => Object.assign(stepTrace(), { truncated: { line: 12, reason: "the file ends" } }),
  "of a rank of many": () => goldenTrace("fsdp_tf_ws4_reshard1"),
  "that a plan tells": planAlone,
  ...Object.fromEntries(sampledCases(degenerateSample(), 2).map(({ name, trace }) => [name, () => trace])),
};

afterAll(closeBrowser);

describe.runIf(browserPath !== "")("a run", () => {
  it.each(Object.keys(runs))("%s is shown as far as it goes", async (name) => {
    const html = renderReport(await makeReport(await runs[name](), { title: name, planIterations: 100 }));
    const { page, faults } = await openReport(html);
    await page.locator("h2").first().waitFor();
    await page.waitForTimeout(200);
    expect(await page.locator("#app .notice").count()).toBe(0);
    expect(["Memory timeline", "Plans and time"]).toContain(await page.locator("h2").first().innerText());
    const links = await page.locator("#bar nav a:visible").all();
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) {
      // No link leads to what is not there.
      expect(await page.locator(`${await link.getAttribute("href")}`).isVisible()).toBe(true);
      await link.click();
    }
    // Neither a text nor a coordinate of a chart is missing a number.
    expect(
      /.{0,80}(?:\bNaN\b|\bundefined\b|\bInfinity\b).{0,80}/.exec(await page.locator("#app").innerHTML()),
    ).toBeNull();
    expect(faults).toEqual([]);
    await page.close();
  });
});
