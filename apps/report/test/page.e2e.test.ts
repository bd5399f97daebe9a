import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { memoryTimeline, peakMoment } from "@remat/memory";
import { planCheckpointing } from "@remat/planner";
import { formatBytes, formatPercent, storageLives } from "@remat/reporting";
import { greedyOrder, sacStats, tradeOff } from "@remat/sac-core";
import { sampledCases } from "@remat/testkit";
import { TraceBuilder } from "@remat/trace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MakeReportOptions, makeReport, type ReportData, renderReport } from "../src/index.js";
import { browserPath, closeBrowser, type OpenReport, openReport } from "./open-report.js";
import { goldenTrace } from "./traces.js";

const trace = goldenTrace("mem_02_transformer_adam");
let html = "";
let made: ReportData;

beforeAll(async () => {
  const other = goldenTrace("mem_02_transformer_ac_adam");
  const { point } = await planCheckpointing(trace, { budgetFraction: 0.9, iterations: 500, boundTimeMs: 0 });
  const options: MakeReportOptions = {
    title: "transformer",
    planIterations: 4000,
    source: "transformer.json",
    compare: { name: "checkpointed", trace: other.withHeader({ ...other.header, mode: "real" }) },
    plan: { name: "plan.json", plan: point!.plan },
  };
  made = await makeReport(trace, options);
  html = renderReport(made);
});
afterAll(closeBrowser);

/** The state in the address, once it has been written and is stable. */
const hashOf = async (page: Page): Promise<URLSearchParams> => {
  const read = (): Promise<string> => page.evaluate(() => location.hash.slice(1));
  await page.waitForTimeout(200);
  for (let before = await read(), tries = 0; tries < 20; tries++) {
    await page.waitForTimeout(150);
    const now = await read();
    if (now === before) return new URLSearchParams(now);
    before = now;
  }
  throw new Error("the address does not come to rest");
};
const textOf = (page: Page, selector: string): Promise<string> => page.locator(selector).first().innerText();
/** A browser saves nothing more for a click that is five seconds old, which on a busy machine it may be: then once more. */
const saved = async (page: Page, name: RegExp): Promise<{ readonly name: string; readonly text: string }> => {
  const click = async () => {
    const [download] = await Promise.all([
      page.waitForEvent("download", { timeout: 300_000 }),
      page.getByRole("button", { name }).first().click(),
    ]);
    return download;
  };
  const download = await click().catch(click);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "latin1") };
};
const noFaults = ({ faults }: OpenReport): void => expect(faults).toEqual([]);

describe.runIf(browserPath !== "")("the page", () => {
  it("opens from disk without a request or an error, in a worker, with every section", async () => {
    const report = await openReport(html);
    const { page } = report;
    expect(page.workers()).toHaveLength(1);
    await page.waitForSelector("#modules svg.icicle");
    await page.waitForSelector("#ops .ops-grid .body .row");
    const headings = await page.locator("h2").allInnerTexts();
    expect(headings).toEqual([
      "Memory timeline",
      "Live tensors",
      "Plans and time",
      "Trade-off",
      "Modules",
      "Ops",
      "Environment",
    ]);
    expect(await page.locator("#environment").innerText()).toContain("estimated by a roofline model");
    expect(await page.locator("#comparison h3").innerText()).toBe("Predicted and measured");
    noFaults(report);
  });

  it("may connect to nothing, as its policy says", async () => {
    const { page } = await openReport(html);
    const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'none'");
    expect(policy).not.toContain("unsafe");
    const refused = await page.evaluate(() =>
      fetch("https://example.org/").then(
        () => "",
        (error: Error) => error.name,
      ),
    );
    expect(refused).toBe("TypeError");
  });

  it("answers beside the page where there can be no worker", async () => {
    const report = await openReport(html.replace("worker-src blob:", "worker-src 'none'"));
    const { page, faults } = report;
    await page.waitForSelector("#modules svg.icicle");
    expect(page.workers()).toHaveLength(0);
    expect(faults.filter((fault) => !fault.includes("Content Security Policy") && !fault.includes("violates"))).toEqual(
      [],
    );
  });

  it("plans anew when the budget moves, by both methods", async () => {
    const report = await openReport(html);
    const { page } = report;
    const slider = page.locator("#budget");
    await page.locator("#trade-off .fold > summary").click();
    await page.waitForSelector("#trade-off tr.fate-1");
    const recomputed = async (): Promise<number> =>
      Number((await page.locator("#trade-off tr.fate-1 td").first().innerText()).replaceAll(",", ""));
    const counts: number[] = [];
    for (const keep of [1000, 600, 300, 0]) {
      await slider.fill(String(keep));
      await page.waitForFunction(
        (share) => document.querySelector("output")?.textContent?.startsWith(share) === true,
        `${(keep / 10).toFixed(1)}%`,
      );
      await page.waitForTimeout(300);
      counts.push(await recomputed());
    }
    expect(counts[0]).toBe(0);
    for (let i = 1; i < counts.length; i++) expect(counts[i]).toBeGreaterThan(counts[i - 1]);
    await page.locator('input[name="budget-method"][value="optimal"]').check();
    expect(await textOf(page, "#trade-off tr.chosen th")).toBe("Optimal");
    expect(Object.fromEntries(await hashOf(page))).toEqual({ keep: "0", method: "optimal" });
    await page.locator("#trade-off tr.fate-1 button").click();
    expect((await hashOf(page)).get("fate")).toBe("1");
    await page.waitForFunction(
      (all) => document.querySelector("#ops [role=status]")?.textContent?.startsWith(`${all} of`),
      String(counts[3]),
    );
    expect(await textOf(page, "#ops .ops-grid .body .row:not([hidden]) [role=gridcell]:nth-child(10)")).toContain(
      "recomputed",
    );
    await page.waitForSelector(".trade-off-chart .optimal");
    expect(await page.locator(".multiples button").count()).toBeGreaterThan(4);
    noFaults(report);
  });

  it.each(sampledCases([360, 1280, 1920], 3))(
    "lays the budget's label over nothing that is drawn, %d px wide",
    async (width) => {
      const { page } = await openReport(html, "", { viewport: { width, height: 900 } });
      /** Pixels of the chart under the label that are neither empty nor of a line of the grid; undefined: it is not shown. */
      const hidden = (): Promise<number | undefined> =>
        page.evaluate(() => {
          const label = document.querySelector<HTMLElement>(".budget-label")!;
          const canvas = document.querySelector<HTMLCanvasElement>("#timeline canvas.chart")!;
          if (getComputedStyle(label).visibility === "hidden") return undefined;
          const [box, chart] = [label.getBoundingClientRect(), canvas.getBoundingClientRect()];
          const [w, h] = [Math.floor(box.width), Math.floor(box.height)];
          const { data } = canvas.getContext("2d")!.getImageData(box.x - chart.x, box.y - chart.y, w, h);
          let inked = 0;
          for (let row = 0; row < h; row++) {
            const pixels = Array.from({ length: w }, (_, x) =>
              data.slice(4 * (row * w + x), 4 * (row * w + x) + 4).join(),
            );
            if (new Set(pixels).size > 1) inked += pixels.filter((pixel) => !pixel.endsWith(",0")).length;
          }
          return inked;
        });
      const seen: (number | undefined)[] = [];
      for (const budget of ["", "95%", "80%"]) {
        await page.locator("#step-budget").fill(budget);
        await page.locator("#step-budget").press("Enter");
        await page.waitForTimeout(400);
        seen.push(await hidden());
      }
      expect(seen.filter((pixels) => pixels !== undefined && pixels > 0)).toEqual([]);
      // There is room beside this step's peak.
      expect(seen[0]).toBe(0);
    },
  );

  it("follows a budget that is typed, dragged or moved by keys: its plan, what that holds, and what it does with each op", async () => {
    const report = await openReport(html);
    const { page } = report;
    const outcome = () => textOf(page, ".step-budget .outcome");
    const heading = () => textOf(page, "#held h3");
    const until = (selector: string, text: string) =>
      page.waitForFunction(([query, part]) => document.querySelector(query)?.textContent?.includes(part), [
        selector,
        text,
      ] as const);
    // The given plan comes first.
    await until("#held h3", "under plan.json");
    expect(await outcome()).toContain("Under plan.json.");
    const { front, recordedPeakBytes } = made.meta.plans!;
    expect(front.length).toBeGreaterThan(2);
    const chosen = front.at(-2)!;
    await page.locator("#step-budget").fill(`${chosen.peakBytes}B`);
    await page.locator("#step-budget").press("Enter");
    await until("#held h3", "under the plan");
    expect(await heading()).toContain(`At the peak under the plan: ${formatBytes(chosen.peakBytes)} in`);
    expect(await outcome()).toContain(`Peak memory ${formatBytes(chosen.peakBytes)}`);
    expect((await hashOf(page)).get("budget")).toBe(String(chosen.peakBytes));
    await page.locator("#ops .head button", { hasText: "Plan" }).click();
    await page.waitForFunction(
      (times) =>
        Array.from(document.querySelectorAll("#ops .body .row:not([hidden]) [role=gridcell]:nth-child(11)")).some(
          (cell) => cell.textContent?.startsWith("recomputed") === times > 0,
        ),
      chosen.recomputations,
    );
    // The next plan down by one key, the one before by another, and back to the step as it was recorded.
    const line = page.locator(".budget-line");
    await line.focus();
    await page.keyboard.press("ArrowDown");
    await until("#held h3", formatBytes(front.at(-1)!.peakBytes));
    await page.keyboard.press("ArrowUp");
    await until("#held h3", formatBytes(chosen.peakBytes));
    expect(await line.getAttribute("aria-valuetext")).toContain("Peak memory");
    await page.keyboard.press("Delete");
    await until("#held h3", `At the peak: ${formatBytes(recordedPeakBytes)}`);
    // Dragged to the ground there is no such plan, which is said, and the step is shown as it was recorded.
    const box = (await line.boundingBox())!;
    await page.mouse.move(box.x + 200, box.y + 1);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 400, { steps: 4 });
    await page.mouse.up();
    await until(".step-budget .outcome", "No plan was found within");
    expect(await heading()).toContain(`At the peak: ${formatBytes(recordedPeakBytes)}`);
    // An invalid budget is rejected with a message.
    await page.locator("#step-budget").fill("12 parsecs");
    await page.locator("#step-budget").press("Enter");
    expect(await page.locator("#step-budget").evaluate((field: HTMLInputElement) => field.validationMessage)).toContain(
      "expected a budget as",
    );
    noFaults(report);
  });

  it.each(["a step", "a run without modules or a backward pass"])(
    "links to no section that is empty, of %s",
    async (what) => {
      const b = new TraceBuilder({
        framework: "tfjs",
        device: "cpu",
        mode: "fake",
        allocationUnitBytes: 1,
        model: "bare",
      });
      b.op({
        name: "Relu",
        outputs: [b.tensor({ storage: b.allocate(64), dtype: "float32", shape: [16] })],
        runtimeMs: 1,
      });
      const bare = what === "a step" ? html : renderReport(await makeReport(b.build(), { title: "bare" }));
      const report = await openReport(bare);
      const { page } = report;
      await page.waitForSelector("#ops .ops-grid .body .row");
      await page.waitForTimeout(300);
      const links = await page.locator("#bar nav a:visible").evaluateAll((all) =>
        all.map((link) => {
          const target = document.getElementById((link as HTMLAnchorElement).hash.slice(1));
          return [
            link.textContent,
            (target?.querySelector(":scope > :not(h2)")?.getBoundingClientRect().height ?? 0) > 0,
          ];
        }),
      );
      expect(links.filter(([, isThere]) => isThere !== true)).toEqual([]);
      expect(links.length).toBeGreaterThan(2);
      noFaults(report);
    },
  );

  it("shows storages one by one where it is zoomed in, and follows one from birth to death", async () => {
    const report = await openReport(html, "#plan=recorded");
    const { page } = report;
    const lanes = page.locator(".lives button");
    expect(await lanes.count()).toBe(0);
    await page.evaluate(() => {
      location.hash = "#plan=recorded&from=300&to=340";
    });
    await page.waitForSelector(".lives button");
    const lives = storageLives(trace, { from: 300, to: 340, limit: 16 });
    expect(await lanes.count()).toBe(lives.length);
    const at = lives.findIndex(({ isMade, lastOp, freedBefore }) => isMade && freedBefore - lastOp > 5);
    const life = lives[at];
    await lanes.nth(at).click();
    await page.waitForFunction((op) => location.hash.includes(`op=${op}`), life.bornAt);
    const hash = await hashOf(page);
    expect(Number(hash.get("from") ?? 0)).toBeLessThanOrEqual(life.bornAt);
    expect(hash.has("to") ? Number(hash.get("to")) : trace.ops.count).toBeGreaterThanOrEqual(
      Math.min(trace.ops.count, life.freedBefore),
    );
    expect(await textOf(page, "#timeline [role=status].note")).toContain(
      `then kept alive for ${(life.freedBefore - 1 - life.lastOp).toLocaleString("en")} more ops`,
    );
    noFaults(report);
  });

  it("zooms to what is dragged over, and shows where in the minimap", async () => {
    const report = await openReport(html);
    const { page } = report;
    await page.locator("canvas.chart").scrollIntoViewIfNeeded();
    await page.evaluate(() => document.querySelector("#timeline")?.scrollIntoView());
    const box = (await page.locator("canvas.chart").boundingBox())!;
    const at = (share: number): number => box.x + 68 + share * (box.width - 80);
    await page.mouse.move(at(0.25), box.y + 150);
    await page.mouse.down();
    await page.mouse.move(at(0.5), box.y + 160, { steps: 4 });
    await page.mouse.up();
    const hash = await hashOf(page);
    const { count } = trace.ops;
    expect(Number(hash.get("from")) / count).toBeCloseTo(0.25, 1);
    expect(Number(hash.get("to")) / count).toBeCloseTo(0.5, 1);
    const shown = (await page.locator(".minimap .window").boundingBox())!;
    expect(shown.width / (box.width - 80)).toBeCloseTo(0.25, 1);
    const end = (await page.locator(".minimap .handle.end").boundingBox())!;
    await page.mouse.move(end.x + 4, end.y + 10);
    await page.mouse.down();
    await page.mouse.move(at(0.75), end.y + 10, { steps: 4 });
    await page.mouse.up();
    expect(Number((await hashOf(page)).get("to")) / count).toBeCloseTo(0.75, 1);
    await page.locator("canvas.chart").hover({ position: { x: 400, y: 150 } });
    expect(await textOf(page, "#tooltip")).toMatch(/op \d+ .*in use.*Parameters/s);
    noFaults(report);
  });

  it("selects an op and a module everywhere", async () => {
    const report = await openReport(html);
    const { page } = report;
    const storage = page.locator(".held-grid .row:not([aria-expanded]):not(.head)", { hasText: /op \d+/ }).first();
    const named = /op (\d+)/.exec(await storage.innerText())![1];
    await storage.click();
    const op = (await hashOf(page)).get("op");
    expect(op).toBe(named);
    await page.waitForSelector("#ops .ops-grid .row.selected");
    expect(await textOf(page, "#ops .ops-grid .row.selected")).toMatch(new RegExp(`^${op}\\b`));
    await page.waitForFunction(
      (text) => document.querySelector("#held h3")?.textContent?.startsWith(text),
      `After op ${op} `,
    );
    await page.locator("#trade-off .fold > summary").click();
    await page.locator(".multiples button").nth(2).click();
    const module = (await hashOf(page)).get("module")!;
    await page.waitForFunction((fqn) => document.querySelector("#trade-off-module")?.textContent === fqn, module);
    expect(await page.locator(".icicle .selected").getAttribute("aria-label")).toContain(`${module},`);
    await page.waitForFunction(
      (fqn) => document.querySelector("#ops [role=status]")?.textContent?.includes(`in ${fqn}`),
      module,
    );
    noFaults(report);
  });

  it("opens and closes what is held as a tree, by keys too, and comes back from an op to where it was left", async () => {
    const report = await openReport(html);
    const { page } = report;
    const rows = async (): Promise<number> =>
      Number(await page.locator(".held-grid").getAttribute("aria-rowcount")) - 1;
    await page.waitForSelector(".held-grid .body .row");
    const texts = await page.locator(".held-grid [aria-level='1'] .tree").allInnerTexts();
    expect(texts.map((text) => text.replace(/[▸▾\s]+/g, ""))).toContain("Activations");
    await page.getByRole("button", { name: "Close all" }).click();
    const roots = await rows();
    expect(roots).toBe(Object.keys(peakMoment(trace).bytesByCategory).length);
    await page.getByRole("button", { name: "Open all" }).click();
    const all = await rows();
    expect(all).toBeGreaterThan(peakMoment(trace).storageCount);
    await page.getByRole("button", { name: "Close all" }).click();
    await page.locator(".held-grid").focus();
    for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    const opened = await rows();
    expect(opened).toBeGreaterThan(roots);
    const storage = page.locator(".held-grid .row:not([aria-expanded]):not(.head):not([hidden])", {
      hasText: /op \d+/,
    });
    if ((await storage.count()) === 0) await page.getByRole("button", { name: "Open all" }).click();
    const left = await rows();
    await storage.first().click();
    const op = (await hashOf(page)).get("op");
    await page.waitForSelector("#ops .ops-grid .row.selected");
    await page.waitForFunction(
      (text) => document.querySelector("#held h3")?.textContent?.startsWith(text),
      `After op ${op} `,
    );
    // From the heading that has the focus then, back to the list that had it.
    expect(await page.evaluate(() => document.activeElement?.closest("section")?.id)).toBe("ops");
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => document.activeElement?.closest("section")?.id)).toBe("held");
    await page.waitForFunction(() => document.querySelector("#held h3")?.textContent?.startsWith("At the peak"));
    expect((await hashOf(page)).has("op")).toBe(false);
    expect(await rows()).toBe(left);
    noFaults(report);
  });

  it("selects nothing by a double click, and shows no tooltip of what was before it zoomed", async () => {
    const report = await openReport(html, "#op=100&from=50&to=400");
    const { page } = report;
    await page.evaluate(() => document.querySelector("#timeline")?.scrollIntoView());
    const box = (await page.locator("canvas.chart").boundingBox())!;
    await page.mouse.move(box.x + 500, box.y + 150);
    expect(await page.locator("#tooltip").isVisible()).toBe(true);
    await page.mouse.dblclick(box.x + 500, box.y + 150);
    expect(Object.fromEntries(await hashOf(page))).toEqual({ op: "100" });
    await page.mouse.move(box.x + 520, box.y + 160);
    expect(await page.locator("#tooltip").isVisible()).toBe(true);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await page.waitForFunction(() => document.querySelector("#tooltip")?.hasAttribute("hidden"));
    noFaults(report);
  });

  it("has the plan and the run that were asked for over the timeline from the start, and leads with what the plan does", async () => {
    const report = await openReport(html);
    const { page } = report;
    const shown = (): Promise<string[]> =>
      page
        .locator('input[name="overlay"]:checked')
        .evaluateAll((boxes) => boxes.map((box) => (box as HTMLInputElement).value));
    expect(await shown()).toEqual(["compare"]);
    expect(await textOf(page, ".answers dt")).toBe("What does plan.json do?");
    await page.waitForSelector("#ops .ops-grid .body .row");
    await page.locator("#ops .head button", { hasText: "Plan" }).click();
    await page.waitForTimeout(300);
    const fates = await page
      .locator("#ops .ops-grid .body .row:not([hidden]) [role=gridcell]:nth-child(11)")
      .allInnerTexts();
    expect(fates.length).toBeGreaterThan(5);
    expect(["recomputed", "freed early", "kept"]).toContain(fates[0]);
    expect(Object.fromEntries(await hashOf(page))).toEqual({ sort: "plan", order: "down" });
    await page.locator("#ops .head button", { hasText: "Op" }).first().click();
    await page.locator('input[name="overlay"][value="compare"]').uncheck();
    const hash = await hashOf(page);
    expect(hash.get("overlays")).toBe("");
    expect(hash.has("sort")).toBe(false);
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    expect(await shown()).toEqual([]);
    noFaults(report);
  });

  it("comes back to the same view by its address", async () => {
    const hash =
      "#module=Transformer.layers.1&op=700&from=200&to=1500&by=module&axis=time&overlays=compare&budget=20000000&keep=250&method=optimal&area=time&root=Transformer&filter=mm&sort=runtimeMs&order=down&theme=dark";
    const report = await openReport(html, hash);
    const { page } = report;
    await page.waitForSelector("#trade-off tr.chosen");
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    for (const [name, value] of [
      ["timeline-by", "module"],
      ["timeline-axis", "time"],
      ["budget-method", "optimal"],
      ["explorer-area", "time"],
    ])
      expect(await page.locator(`input[name="${name}"][value="${value}"]`).isChecked(), name).toBe(true);
    expect(
      await page
        .locator('input[name="overlay"]:checked')
        .evaluateAll((boxes) => boxes.map((box) => (box as HTMLInputElement).value)),
    ).toEqual(["compare"]);
    expect(await page.locator("#step-budget").inputValue()).toBe("19.07 MiB");
    expect(await page.locator("#budget").inputValue()).toBe("250");
    expect(await page.locator(".filters input").first().inputValue()).toBe("mm");
    await page.waitForFunction(() =>
      /in Transformer\.layers\.1:/.test(document.querySelector("#ops [role=status]")?.textContent ?? ""),
    );
    const times = await page
      .locator("#ops .ops-grid .body .row:not([hidden]) [role=gridcell]:nth-child(6)")
      .allInnerTexts();
    const ms = times.map((text) => Number.parseFloat(text) * (text.endsWith("µs") ? 1e-3 : 1));
    expect(ms.length).toBeGreaterThan(5);
    expect(ms).toEqual([...ms].sort((a, b) => b - a));
    await page.locator('input[name="timeline-axis"][value="ops"]').check();
    const expected = new URLSearchParams(hash.slice(1));
    expected.delete("axis");
    expect(Object.fromEntries(await hashOf(page))).toEqual(Object.fromEntries(expected));
    noFaults(report);
  });

  it("follows an address that is changed by hand, and passes over what it says wrongly", async () => {
    const report = await openReport(html, "#op=7&by=colour&from=x&keep=99999&__proto__=1");
    const { page } = report;
    expect(Object.fromEntries(await hashOf(page))).toEqual({ op: "7", keep: "1000" });
    await page.evaluate(() => {
      location.hash = "#op=9&method=optimal";
    });
    await page.waitForFunction(() => document.querySelector("#held h3")?.textContent?.startsWith("After op 9 "));
    expect(await page.locator("#budget").inputValue()).toBe("500");
    noFaults(report);
  });

  it("searches by / and Ctrl+F, forwards and backwards", async () => {
    const report = await openReport(html);
    const { page } = report;
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("search");
    await page.keyboard.type("attention");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".search .note")?.textContent?.startsWith("1 of "));
    const first = (await hashOf(page)).get("module");
    expect(first).toContain("attention");
    await page.keyboard.press("Enter");
    expect((await hashOf(page)).get("module")).not.toBe(first);
    await page.keyboard.press("Shift+Enter");
    expect((await hashOf(page)).get("module")).toBe(first);
    await page.keyboard.press("Shift+Enter");
    expect(await textOf(page, ".search .note")).toMatch(/^([\d,]+) of \1$/);
    await page.locator("h1").click();
    await page.keyboard.press("Control+f");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("search");
    await page.keyboard.type("addmm");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() =>
      document.querySelector("#ops .ops-grid .row.selected")?.textContent?.includes("addmm"),
    );
    await page.keyboard.press("Control+a");
    await page.keyboard.type("no such thing");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".search .note")?.textContent === "none");
    noFaults(report);
  });

  it("goes to the first result when Enter comes before it is found", async () => {
    const { page } = await openReport(html);
    await page.waitForSelector("#ops .ops-grid .body .row");
    await page.evaluate(async () => {
      const input = document.querySelector<HTMLInputElement>("#search")!;
      input.value = "layers";
      input.dispatchEvent(new InputEvent("input", { bubbles: true }));
      // As long as the page waits before it searches: the search has begun when this is over.
      await new Promise((resolve) => setTimeout(resolve, 150));
      input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    });
    await page.waitForFunction(() => location.hash.includes("module="));
    await page.context().close();
  });

  it("shows the columns of PyTorch's tables", async () => {
    const { page } = await openReport(html, "#module=Transformer.layers.0&sort=freed&order=up");
    await page.waitForFunction(() =>
      document.querySelector("#ops [role=status]")?.textContent?.includes("in Transformer.layers.0"),
    );
    await page.waitForTimeout(300);
    const { rows } = await page.evaluate(() => ({
      rows: [...document.querySelectorAll("#ops .ops-grid .body .row:not([hidden])")].map((row) =>
        [...row.children].map((cell) => cell.textContent),
      ),
    }));
    const given = rows.map((row) => Number.parseFloat(row[7]!));
    expect(given.length).toBeGreaterThan(10);
    expect(given).toEqual([...given].sort((a, b) => a - b));
    const stats = sacStats(trace).get("Transformer.layers.0")!;
    const curve = tradeOff(stats, greedyOrder(stats)).tradeoffCurve;
    const points = Array.from(
      curve.discardedMemory,
      (x, i) => `${formatPercent(x - 0.01)} ${formatPercent(curve.recomputationTime[i])}`,
    );
    for (const [i, row] of rows.entries())
      if (given[i] > given[i - 1] && given[i] < given[i + 1]) expect(points).toContain(`${row[7]} ${row[8]}`);
  });

  it("saves every chart as SVG and PNG and every table as CSV", async () => {
    const report = await openReport(html, "#plan=recorded");
    const { page } = report;
    await page.locator("#trade-off .fold > summary").click();
    await page.waitForSelector("#modules svg.icicle");
    await page.waitForSelector("#trade-off .front-chart");
    await page.waitForSelector("#ops .ops-grid .body .row");
    for (const chart of ["timeline", "trade-off", "plans", "modules"]) {
      const svg = await saved(page, new RegExp(`Save transformer-${chart} as SVG`));
      expect(svg.name).toBe(`transformer-${chart}.svg`);
      expect(svg.text.slice(0, 600)).toMatch(/^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
      expect(svg.text).toMatch(/<path|<rect x=/);
      expect(svg.text).not.toContain("var(--");
      const png = await saved(page, new RegExp(`Save transformer-${chart} as PNG`));
      expect(png.text.slice(1, 4)).toBe("PNG");
      expect(png.text.length).toBeGreaterThan(4000);
    }
    const rows = async (name: string): Promise<string[]> =>
      (await saved(page, new RegExp(`Save transformer-${name} as CSV`))).text.trim().split("\r\n");
    const timeline = await rows("timeline");
    expect(timeline).toHaveLength(trace.ops.count + 1);
    expect(timeline[0]).toMatch(/^op,name,phase,startMs,totalBytes,highestBytes,Parameters bytes,/);
    expect(await rows("ops")).toHaveLength(trace.ops.count + 1);
    expect((await rows("modules")).length).toBeGreaterThan(20);
    const table = async (name: string): Promise<string[]> =>
      (await saved(page, new RegExp(`Save as CSV: transformer: ${name}`))).text.trim().split("\r\n");
    const peak = Math.max(...memoryTimeline(trace).highestBytes);
    const held = await rows("held");
    expect(held[0]).toBe("storage,bytes,category,module,op,kernel,line,tensor,lastUsedByOp,freedBeforeOp");
    expect(held.slice(1).reduce((sum, row) => sum + Number(row.split(",")[1]), 0)).toBe(peak);
    for (const name of [
      "Recommended plans",
      "Recompute these first",
      "Predicted and measured",
      "budget",
      "fitted pieces",
    ])
      expect((await table(name)).length, name).toBeGreaterThan(1);
    noFaults(report);
  });

  it("can be used by keyboard alone, with the focus in sight", async () => {
    const report = await openReport(html);
    const { page } = report;
    await page.waitForSelector("#modules svg.icicle");
    await page.waitForSelector("#ops .ops-grid .body .row");
    await page.evaluate(() => {
      document.querySelector<HTMLDetailsElement>("#trade-off .fold")!.open = true;
    });
    await page.waitForSelector("#trade-off tr.chosen");
    const reached = new Set<string>();
    for (let i = 0; i < 260; i++) {
      await page.keyboard.press("Tab");
      const found = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement | null;
        if (element === null || element === document.body) return undefined;
        const style = getComputedStyle(element);
        const isSeen = style.outlineStyle !== "none" || element.matches("g, .skip");
        return {
          name:
            element.id ||
            element.getAttribute("class")?.split(" ")[0] ||
            element.getAttribute("name") ||
            element.getAttribute("aria-label") ||
            element.tagName,
          isSeen,
        };
      });
      if (found === undefined) break;
      expect(found.isSeen, found.name).toBe(true);
      reached.add(found.name);
    }
    for (const name of [
      "skip",
      "search",
      "theme",
      "chart",
      "step-budget",
      "budget-line",
      "handle",
      "budget",
      "cell",
      "ops-grid",
      "timeline-by",
    ])
      expect([...reached]).toContain(name);

    await page.locator("canvas.chart").focus();
    await page.keyboard.press("p");
    const peak = Number((await hashOf(page)).get("op"));
    await page.keyboard.press("ArrowUp");
    expect(Number((await hashOf(page)).get("op"))).toBe(peak + 1);
    await page.keyboard.press("+");
    expect((await hashOf(page)).has("to")).toBe(true);
    await page.keyboard.press("Escape");
    expect([...(await hashOf(page)).keys()]).toEqual([]);

    await page.locator('.icicle [tabindex="0"]').focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    const module = (await hashOf(page)).get("module")!;
    expect(module).toMatch(/^Transformer\./);
    await page.keyboard.press("Enter");
    expect((await hashOf(page)).get("root")).toBe(module);
    await page.keyboard.press("Escape");
    expect((await hashOf(page)).get("root")).toBe("Transformer");

    await page.locator("#ops .ops-grid").focus();
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    expect((await hashOf(page)).get("op")).toMatch(/^\d+$/);
    noFaults(report);
  });

  const appearances = [
    ["light", 360],
    ["light", 1280],
    ["dark", 1280],
  ] as const;
  it.each(sampledCases(appearances, 2))(
    "has no serious violation of accessibility rules, %s at %i pixels",
    async (colorScheme, width) => {
      const report = await openReport(html, "#op=100&module=Transformer.layers.0&budget=20000000", {
        colorScheme,
        viewport: { width, height: 900 },
      });
      const { page } = report;
      await page.waitForSelector("#modules svg.icicle");
      await page.waitForSelector("#ops .ops-grid .body .row");
      const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
      await page.evaluate(axe);
      const violations = await page.evaluate(async () => {
        const { axe: run } = globalThis as unknown as {
          axe: {
            run(): Promise<{
              violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
            }>;
          };
        };
        return (await run.run()).violations.map(({ id, impact, nodes }) => ({
          id,
          impact,
          nodes: nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
        }));
      });
      expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    },
  );

  it("can be read without JavaScript", async () => {
    const report = await openReport(html, "", { javaScriptEnabled: false });
    const { page } = report;
    const summary = await textOf(page, "#summary");
    for (const text of [
      "Live tensors at the peak",
      "Activations",
      "Recommended plans",
      "At most 5% more time",
      "Predicted and measured",
    ])
      expect(summary).toContain(text);
    expect(await page.locator(".answers dt").allInnerTexts()).toEqual([
      "What does plan.json do?",
      "Does it fit as recorded?",
      "What uses the most memory as recorded?",
      "Could it use less with no slowdown?",
    ]);
    expect(await page.locator("svg.still").isVisible()).toBe(true);
    expect(await textOf(page, "#environment")).toContain("Allocation unit");
    noFaults(report);
  });

  it("has the colours of the theme that is chosen, or else of the system's, in what is drawn, too", async () => {
    const { page } = await openReport(html, "#overlays=compare");
    const seen = () =>
      page.evaluate(() => {
        const drawn = Array.from(document.querySelectorAll("[fill], [stroke], [style]"), (element) =>
          ["fill", "stroke", "style"].map((name) => element.getAttribute(name) ?? "").join(),
        );
        return {
          paper: getComputedStyle(document.body).backgroundColor,
          activation: getComputedStyle(document.querySelector(".category-activation")!).fill,
          isResolved: drawn.length > 0 && drawn.every((text) => !text.includes("light-dark")),
        };
      });
    const light = { paper: "rgb(255, 255, 255)", activation: "rgb(49, 106, 232)", isResolved: true };
    const dark = { paper: "rgb(23, 27, 33)", activation: "rgb(119, 215, 253)", isResolved: true };
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [theme, expected] of [
        ["auto", colorScheme === "dark" ? dark : light],
        ["light", light],
        ["dark", dark],
      ] as const) {
        await page.evaluate((hash) => (location.hash = hash), `#overlays=compare&theme=${theme}`);
        await page.waitForFunction((chosen) => (document.documentElement.dataset["theme"] ?? "auto") === chosen, theme);
        expect(await seen(), `${colorScheme}, ${theme}`).toEqual(expected);
      }
    }
  });

  it("moves nothing where motion is to be reduced, and prints light", async () => {
    const { page } = await openReport(html, "#theme=dark", { reducedMotion: "reduce" });
    expect(await page.evaluate(() => getComputedStyle(document.querySelector("button")!).transitionDuration)).toBe(
      "0s",
    );
    await page.emulateMedia({ media: "print" });
    // Paper is wider than the window, so pictures are drawn again, in the frame after the layout.
    await page.evaluate(async () => {
      for (let i = 0; i < 3; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
    });
    // Drawings are immediately in light colours, without waiting for another frame.
    const lightness = (kind: string): Promise<number> =>
      page.evaluate((event) => {
        dispatchEvent(new Event(event));
        const { width, height } = document.querySelector("canvas.chart") as HTMLCanvasElement;
        const context = (document.querySelector("canvas.chart") as HTMLCanvasElement).getContext("2d")!;
        const { data } = context.getImageData(0, 0, width, height);
        return data.reduce((sum, value, i) => sum + (i % 4 === 3 ? 0 : value), 0) / data.length;
      }, kind);
    const dark = await lightness("afterprint");
    expect(await lightness("beforeprint")).not.toBe(dark);
    expect(await lightness("afterprint")).toBe(dark);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
    expect(await page.locator("#bar").isVisible()).toBe(false);
    expect(await page.locator("#summary").isVisible()).toBe(true);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  });
});
