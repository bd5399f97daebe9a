/// <reference lib="dom" />
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";
import { findFirefox, launchFirefox } from "@remat/testkit/firefox";
import { describe, expect, it } from "vitest";
import { makeReport, renderReport } from "../src/index.js";
import { goldenTrace } from "./traces.js";

const path = findFirefox();

describe.runIf(path !== undefined)("the page in Firefox", () => {
  it("opens, moves its budget by keys, goes to an op and back, without an error", async () => {
    const trace = goldenTrace("mem_02_transformer_adam");
    const file = join(mkdtempSync(join(tmpdir(), "remat-report-")), "report.html");
    writeFileSync(file, renderReport(await makeReport(trace, { title: "transformer", planIterations: 2000 })));
    const browser = await launchFirefox(path ?? "");
    try {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on("console", (message) => {
        if (["error", "warn"].includes(message.type())) faults.push(message.text());
      });
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.setViewport({ width: 1280, height: 900 });
      await page.goto(pathToFileURL(file).href);
      await page.waitForSelector("html[data-ready]");
      await page.waitForSelector("#ops .ops-grid .body .row");
      expect(await page.$$eval("h2", (headings) => headings.map(({ textContent }) => textContent))).toContain(
        "Live tensors",
      );

      const budget = () => page.$eval(".budget-line", (line) => line.getAttribute("aria-valuetext"));
      const before = await budget();
      await page.focus(".budget-line");
      for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowDown");
      await page.waitForFunction(
        (old) => document.querySelector(".budget-line")?.getAttribute("aria-valuetext") !== old,
        {},
        before,
      );
      expect(await budget()).not.toBe(before);

      // Who selects an op goes on in the browser's history, and Back comes back.
      const address = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("op"));
      const opBefore = await address();
      await page.$$eval("#timeline button", (buttons) => {
        buttons.find(({ textContent }) => textContent === "Peak")?.click();
      });
      await page.waitForFunction((old) => new URLSearchParams(location.hash.slice(1)).get("op") !== old, {}, opBefore);
      expect(Number(await address())).toBeGreaterThanOrEqual(0);
      await page.evaluate(() => history.back());
      await page.waitForFunction((old) => new URLSearchParams(location.hash.slice(1)).get("op") === old, {}, opBefore);

      // An address that names an op leads to it: its row is there, and chosen.
      const op = trace.ops.count - 5;
      await page.goto("about:blank");
      await page.goto(`${pathToFileURL(file).href}#op=${op}`);
      await page.waitForSelector("html[data-ready]");
      const chosen = await page.waitForSelector("#ops .body .row[aria-selected='true']");
      expect(await chosen?.evaluate((row) => row.textContent)).toContain(trace.opName(op));
      expect(await address()).toBe(String(op));
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it("prints two pages of A4", async () => {
    const trace = goldenTrace("mem_02_transformer_adam");
    const file = join(mkdtempSync(join(tmpdir(), "remat-report-")), "report.html");
    writeFileSync(file, renderReport(await makeReport(trace, { title: "transformer", planIterations: 500 })));
    const browser = await launchFirefox(path ?? "");
    try {
      const page = await browser.newPage();
      await page.goto(pathToFileURL(file).href);
      await page.waitForSelector("html[data-ready]");
      expect(pagesOf(await page.pdf({ format: "A4" }))).toEqual(["0 0 596 842", "0 0 596 842"]);
    } finally {
      await browser.close();
    }
  });
});

/** The box of each page of a PDF, whose objects Firefox writes into compressed streams, in points. */
function pagesOf(pdf: Uint8Array): readonly string[] {
  const text = Buffer.from(pdf).toString("latin1");
  const streams = [...text.matchAll(/stream\r?\n([\s\S]*?)endstream/g)].map(([, bytes]) => {
    try {
      return inflateSync(Buffer.from(bytes, "latin1")).toString("latin1");
    } catch {
      return "";
    }
  });
  return [text, ...streams].flatMap((objects) =>
    [...objects.matchAll(/\/Type\s*\/Page\b[\s\S]*?\/MediaBox\s*\[\s*([\d. ]*?)\s*\]/g)].map(([, box]) => box),
  );
}
