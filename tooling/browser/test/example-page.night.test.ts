import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { buildPage } from "../../../examples/page/build.js";
import { launchBrowser } from "../src/serve-page.js";

const browserPath = inject("browser");
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
};

describe.runIf(browserPath !== "")("the page of the examples", () => {
  const folder = mkdtempSync(join(tmpdir(), "remat-page-"));
  const asked: string[] = [];
  const faults: string[] = [];
  let server: Server;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    await (buildPage as (outDir: string) => Promise<void>)(folder);
    server = createServer(({ url = "" }, response) => {
      const { pathname } = new URL(url, "http://localhost");
      const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
      try {
        const file = readFileSync(join(folder, path.replace("/below/", "")));
        response.setHeader("content-type", types[extname(path)] ?? "text/plain").end(file);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    browser = await launchBrowser(browserPath);
    page = await browser.newPage();
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("request", (request) => asked.push(request.url()));
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("trains MobileNet as stock and within a budget, to the same loss, from static files alone", async () => {
    const address = `http://localhost:${(server.address() as AddressInfo).port}/below/`;
    await page.goto(`${address}?backend=cpu&pixels=32&batch=2&steps=2&budget=60%25`);
    await page.getByRole("button", { name: "Train" }).click();
    const status = page.getByRole("status");
    await status.filter({ hasText: /^Step 2 of 2|Error|[A-Z]+_[A-Z]+:/ }).waitFor({ timeout: 100_000 });
    expect(await status.innerText()).toBe("Step 2 of 2: the same loss to the bit");
    const peakOf = async (way: string): Promise<number> =>
      Number(/([\d.]+) MB at most/.exec(await page.locator(`[data-way=${way}] p`).innerText())?.[1]);
    expect(await peakOf("remat")).toBeLessThan(0.7 * (await peakOf("stock")));
    for (const way of ["stock", "remat"])
      expect(await page.locator(`[data-way=${way}] canvas`).getAttribute("aria-label")).toMatch(/^Memory over/);
    expect(asked.filter((url) => !url.startsWith(address) && !url.startsWith("blob:"))).toEqual([]);
    expect(faults).toEqual([]);
  });
});
