import { afterAll, describe, expect, it } from "vitest";
import { makeReport, renderReport } from "../src/index.js";
import { browserPath, closeBrowser, openReport } from "./open-report.js";
import { stepTrace } from "./traces.js";

const names = [
  "</script><script>globalThis.wasRun=1</script>",
  '"><img src=x onerror=globalThis.wasRun=1>',
  "__proto__",
  "constructor",
  "line\u2028separator",
  "lone \ud800 surrogate",
  "control \u0007 \u001b[31m",
  "<!--remat:data--> $& $1 &amp;",
  "=HYPERLINK(1)",
  "javascript:globalThis.wasRun=1",
  "\u202eright to left",
];

/** Characters that a page hides, or that change the direction of text. */
const hidden = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\n\t])\p{Cc}/u;

const writtenOut = (text: string): string =>
  text
    .replace(/[\u0007\u001b]/g, (it) => `\\x${it.charCodeAt(0).toString(16).padStart(2, "0")}`)
    .replace(/[\u202e\u2028\ud800]/g, (it) => `\\u{${it.charCodeAt(0).toString(16)}}`);

afterAll(closeBrowser);

describe.runIf(browserPath !== "")("a name", () => {
  it.each(names)("%j is shown as text, wherever it stands", async (name) => {
    const trace = stepTrace({ layers: 2, name: (layer) => (layer === 0 ? name : "plain"), opName: name, model: name });
    const html = renderReport(
      await makeReport(trace, { title: name, source: name, planIterations: 50, compare: { name, trace } }),
    );
    const { page, faults } = await openReport(html);
    await page.waitForSelector("#modules svg.icicle");
    await page.waitForSelector("#ops .ops-grid .body .row");
    const shown = writtenOut(name);
    expect(await page.locator("h1").textContent()).toBe(shown);
    expect(await page.title()).toBe(`${shown} – remat report`);
    const cell = await page.locator("#ops .ops-grid .body .row [role=gridcell]:nth-child(2)").first().textContent();
    expect(cell).toBe(shown);
    expect(await page.locator("body").innerText()).not.toMatch(hidden);
    for (const attribute of ["title", "aria-label", "aria-valuetext"])
      for (const element of await page.locator(`[${attribute}]`).all())
        expect(await element.getAttribute(attribute)).not.toMatch(hidden);
    // Selecting what is called so works as for any other name.
    await page.locator("#bar input[type=search]").fill(name.slice(0, 12));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("module="));
    await page.waitForTimeout(150);
    expect(await page.evaluate(() => (globalThis as { wasRun?: number }).wasRun)).toBeUndefined();
    expect(await page.locator("img, script:not(#remat-data)").count()).toBe(1);
    expect(faults).toEqual([]);
    await page.close();
  });
});
