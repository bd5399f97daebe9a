import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { inject } from "vitest";

export const browserPath: string = inject("browser");

/** A report that is open in a browser without a network, and what went wrong in it. */
export interface OpenReport {
  readonly page: Page;
  /** Requests other than for the file itself, blobs and data; errors and warnings of the console; exceptions. */
  readonly faults: readonly string[];
}

let browser: Promise<Browser> | undefined;

/** Opens an HTML text from disk. */
export async function openReport(html: string, hash = "", options: BrowserContextOptions = {}): Promise<OpenReport> {
  // Within a container root has no sandbox.
  browser ??= chromium.launch({ executablePath: browserPath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
  const context = await (await browser).newContext({
    viewport: { width: 1280, height: 900 },
    offline: true,
    ...options,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  const path = join(mkdtempSync(join(tmpdir(), "remat-report-")), "report.html");
  writeFileSync(path, html);
  const url = pathToFileURL(path).href;
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !/^(blob|data):/.test(request.url())) faults.push(`request ${request.url()}`);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  await page.goto(url + hash);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
  return { page, faults };
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}
