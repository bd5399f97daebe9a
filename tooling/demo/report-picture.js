#!/usr/bin/env node
// Draws docs/report.png: the report of ResNet-50 as a reader sees it first. Needs Chromium, on the PATH or named by
// CHROMIUM. Usage: pnpm demo:report [--check]. --check compares it with the picture in docs instead.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { keepPicture } from "./src/keep-picture.js";
import { samePixels } from "./src/same-pixels.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-picture-"));
const report = join(folder, "report.html");
const model = join(root, "examples/keras/resnet50.model.json");
const remat = join(root, "apps/cli/dist/main.js");
try {
  execFileSync(process.execPath, [remat, "report", model, "--batch", "8", "--iterations", "3000", "-o", report]);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? execFileSync("which", ["chromium"], { encoding: "utf8" }).trim(),
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  const page = await browser.newPage({ viewport: { width: 1024, height: 1264 }, colorScheme: "light" });
  await page.goto(pathToFileURL(report).href);
  await page.locator("h2").first().waitFor();
  const picture = await pictureAtRest(page);
  await browser.close();
  keepPicture(join(root, "docs/report.png"), picture, samePixels);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Takes a picture once charts are drawn and the plan of the budget is found, so the page no longer changes.
 *
 * @param {import("playwright-core").Page} page
 */
async function pictureAtRest(page) {
  let last = Buffer.alloc(0);
  for (let tries = 0; tries < 30; tries++) {
    await page.waitForTimeout(3000);
    const picture = await page.screenshot();
    if (picture.equals(last)) return picture;
    last = picture;
  }
  throw new Error("the report still changes after 90 seconds");
}
