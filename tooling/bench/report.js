// Measures the size of the report's app, of ResNet-50's report, and of a report with a million ops. Also measures how
// long the largest one takes to open, and its frame times while panning, in a headless Chromium without a GPU.
// Usage: node tooling/bench/report.js [ops]
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { makeReport, renderReport } from "@remat/report";
import { chromium } from "playwright-core";
import { largeStep } from "./src/large-step.js";
import { median, timeOnce } from "./src/measure.js";
import { report } from "./src/report.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-bench-"));
const opCount = Number(process.argv[2] ?? 1_000_000);
const kilobytes = (bytes) => bytes / 1000;
const megabytes = (bytes) => bytes / 1e6;

try {
  const shell = gzipSync(readFileSync(join(root, "apps/report/dist/shell.html")), { level: 9 }).length;
  report({ what: "report: the app, compressed", value: kilobytes(shell), unit: "kB", bound: 150 });

  const resnet = join(folder, "resnet50.html");
  const model = join(root, "examples/keras/resnet50.model.json");
  execFileSync(
    process.execPath,
    [join(root, "apps/cli/dist/main.js"), "report", model, "--batch", "8", "--time", "2s", "-o", resnet],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  report({ what: "report of ResNet-50: file", value: kilobytes(statSync(resnet).size), unit: "kB", bound: 1000 });

  const trace = largeStep(opCount);
  const large = join(folder, "large.html");
  const made = await timeOnce(async () =>
    writeFileSync(large, renderReport(await makeReport(trace, { title: "large" }))),
  );
  const name = `report of ${trace.ops.count} ops`;
  report({ what: `${name}: file`, value: megabytes(statSync(large).size), unit: "MB", bound: 25 });
  report({ what: `${name}: make and write`, value: made.wallMs, cpu: made.cpuMs, unit: "ms", runs: 1 });
  await inBrowser(name, pathToFileURL(large).href);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function inBrowser(name, url) {
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    console.error("bench: no Chromium on the PATH or in CHROMIUM, so that nothing is opened");
    process.exitCode = 1;
    return;
  }
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
  try {
    const session = await browser.newBrowserCDPSession();
    /** CPU time of the browser's processes so far, in milliseconds. */
    const browserCpuMs = async () =>
      (await session.send("SystemInfo.getProcessInfo")).processInfo.reduce((sum, each) => sum + 1000 * each.cpuTime, 0);
    const opened = [];
    const used = [];
    let page;
    for (let run = 0; run < 3; run++) {
      await page?.context().close();
      page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true })).newPage();
      const cpu = await browserCpuMs();
      const start = performance.now();
      await page.goto(url, { waitUntil: "commit" });
      await page.waitForSelector("html[data-ready] canvas.chart", { timeout: 60_000 });
      // The chart is visible one frame later.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      opened.push(performance.now() - start);
      used.push((await browserCpuMs()) - cpu);
    }
    report({ what: `${name}: open`, value: median(opened), cpu: median(used), unit: "ms", runs: 3, bound: 3000 });
    await page.waitForSelector("#modules svg.icicle", { timeout: 60_000 });
    await page.evaluate(() => document.querySelector("#timeline").scrollIntoView());
    await page.waitForTimeout(500);
    const frames = await page.evaluate(pan);
    const sorted = frames.intervals.sort((a, b) => a - b);
    report({
      what: `${name}: a frame while panning`,
      value: median(sorted),
      unit: "ms",
      runs: sorted.length,
      bound: 16.8,
      note: `19 of 20 within ${sorted[Math.floor(sorted.length * 0.95)].toFixed(1)} ms; drawing takes ${median(frames.drawing).toFixed(1)} ms`,
    });
  } finally {
    await browser.close();
  }
}

/** Zooms in and moves the timeline at every frame. Runs in the page. */
async function pan() {
  const canvas = document.querySelector("canvas.chart");
  const box = canvas.getBoundingClientRect();
  const wheel = (options) =>
    canvas.dispatchEvent(
      new WheelEvent("wheel", {
        bubbles: true,
        cancelable: true,
        clientX: box.left + 300,
        clientY: box.top + 100,
        ...options,
      }),
    );
  wheel({ deltaY: -300, ctrlKey: true });
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  for (let i = 0; i < 10; i++) await nextFrame();
  const intervals = [];
  const drawing = [];
  let last = await nextFrame();
  for (let i = 0; i < 180; i++) {
    wheel({ deltaX: i < 90 ? 12 : -12 });
    // The page draws in the animation frame that it requested. A later request runs after it.
    const now = await nextFrame();
    drawing.push(performance.now() - now);
    intervals.push(now - last);
    last = now;
  }
  return { intervals, drawing };
}

function findBrowser() {
  const named = process.env.CHROMIUM;
  if (named !== undefined && existsSync(named)) return named;
  const folders = (process.env.PATH ?? "").split(delimiter);
  return ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
    .flatMap((each) => folders.map((path) => join(path, each)))
    .find((path) => existsSync(path));
}
