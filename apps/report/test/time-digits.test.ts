import { formatEstimatedMs, formatMs } from "@remat/reporting";
import { RuntimeSource, type Trace } from "@remat/trace";
import { expect, test } from "vitest";
import { summaryHtml } from "../src/html/summary-html.js";
import { makeReport } from "../src/index.js";
import { goldenTrace } from "./traces.js";

/** The time of the step, and the summary that shows it. */
async function timesOf(trace: Trace): Promise<{ readonly stepMs: number; readonly html: string }> {
  const { meta } = await makeReport(trace, { title: "step", planIterations: 100, planTimeMs: 0 });
  return { stepMs: meta.summary.stepMs, html: summaryHtml(meta).html };
}

test("a time has two digits where a roofline estimated it, and four where one was measured", async () => {
  const trace = goldenTrace("mem_03_mlp_adam");
  const estimated = await timesOf(trace);
  expect(formatMs(estimated.stepMs)).not.toBe(formatEstimatedMs(estimated.stepMs));
  expect(estimated.html).toContain(`<strong>${formatEstimatedMs(estimated.stepMs)}</strong>`);
  expect(estimated.html).not.toContain(formatMs(estimated.stepMs));

  trace.ops.runtimeSource[0] = RuntimeSource.measured;
  const measured = await timesOf(trace);
  expect(measured.html).toContain(`<strong>${formatMs(measured.stepMs)}</strong>`);
});
