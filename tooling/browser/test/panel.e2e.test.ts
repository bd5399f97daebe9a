import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { buildShell } from "../../../apps/report/build-shell.js";
import type * as program from "../src/panel-in-browser.js";
import { type ServedPage, servePage } from "../src/serve-page.js";

const browserPath = inject("browser");
const steps = 3;

describe.runIf(browserPath !== "")("the memory panel", () => {
  let served: ServedPage;
  let page: Page;
  let shell: string;

  beforeAll(async () => {
    shell = await (buildShell as () => Promise<string>)();
    served = await servePage(browserPath, 'export * from "./panel-in-browser.js";');
    ({ page } = served);
  });
  afterAll(() => served?.close());

  const train = (isShown: boolean): Promise<program.Shown> =>
    page.evaluate(
      ([isShown, steps, shell]) =>
        (globalThis as unknown as typeof program).trainUnderPanel("cpu", isShown, steps, shell),
      [isShown, steps, shell] as const,
    );
  const trainAgain = (): Promise<program.Shown> =>
    page.evaluate((steps) => (globalThis as unknown as typeof program).trainSteps(steps), steps);
  const summary = () => page.locator("remat-panel p").first().innerText();

  test("shows steps, and what their peak is made of, and changes no weight", async () => {
    const stock = await train(false);
    expect(await train(true)).toEqual(stock);
    expect(stock.tensors).toBe(0);
    expect(await summary()).toMatch(/^Step 3: peak [\d.]+ \w+, while \w+ ran$/);
    const region = page.getByRole("region", { name: "Memory of training" });
    await expect(region.getByRole("img").getAttribute("aria-label")).resolves.toMatch(
      /^Live memory of the last 2 steps by category; peaks: /,
    );
    const rows = await region.getByRole("table", { name: "Peak memory by category" }).getByRole("row").allInnerTexts();
    const categories = rows.map((row) => row.split("\t")[0].trim());
    expect(categories).toEqual(expect.arrayContaining(["Activations", "Optimizer state", "Parameters"]));
    expect(categories).not.toContain("Buffers");
    expect(served.faults).toEqual([]);
  });

  test("saves the last step as a trace", async () => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save trace" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("step.remat.jsonl.gz");
  });

  test("opens the report of the last step", async () => {
    const [report] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("button", { name: "Open report" }).click(),
    ]);
    await report.getByRole("heading", { name: "a step" }).waitFor();
    await report.locator("#app section:not([hidden])").first().waitFor();
    expect(await report.title()).toBe("a step – remat report");
    await report.close();
    expect(await page.getByRole("status").innerText()).toBe("");
    expect(served.faults).toEqual([]);
  });

  test("switches early release and a budget, by the keyboard too", async () => {
    const stock = await trainAgain();
    const peakOf = async () => Number(/peak ([\d.]+)/.exec(await summary())?.[1]);
    const before = await peakOf();
    await page.getByLabel("Early release").focus();
    await page.keyboard.press("Space");
    expect(await trainAgain()).toEqual(stock);
    expect(await peakOf()).toBeLessThan(before);
    await page.getByRole("textbox").fill("half");
    await page.getByRole("checkbox", { name: "Budget" }).click();
    await expect(page.getByRole("status").innerText()).resolves.toMatch(/half/);
    expect(await page.getByRole("checkbox", { name: "Budget" }).isChecked()).toBe(false);
    await page.getByRole("textbox").fill("90%");
    await page.getByRole("checkbox", { name: "Budget" }).click();
    expect(await trainAgain()).toEqual(stock);
    expect(served.faults).toEqual([]);
  });

  test.each([360, 1280])("fits a page that is %i px wide", async (width) => {
    await page.setViewportSize({ width, height: 740 });
    const box = await page.locator("remat-panel section").boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
    const overflow = await page
      .locator("remat-panel section")
      .evaluate((section) => section.scrollWidth - section.clientWidth);
    expect(overflow).toBe(0);
    await page.getByRole("button", { name: "Fold" }).click();
    expect((await page.locator("remat-panel section").boundingBox())?.height).toBeLessThan(60);
    await page.getByRole("button", { name: "Unfold" }).click();
  });

  test("goes without a trace", async () => {
    await page.getByRole("button", { name: "Close the memory panel" }).click();
    expect(await page.locator("remat-panel").count()).toBe(0);
    const isPatched = await page.evaluate(() =>
      Object.hasOwn((globalThis as never as { _tfengine: object })._tfengine, "runKernelFunc"),
    );
    expect(isPatched).toBe(false);
  });

  test("has its looks where a policy forbids inline styles, and its place whatever the page's own styles say", async () => {
    await page.addStyleTag({ content: "* { all: unset; font-size: 30px !important } div { display: none }" });
    await page.evaluate(() => {
      const meta = document.createElement("meta");
      meta.httpEquiv = "Content-Security-Policy";
      meta.content = "style-src 'self'";
      document.head.append(meta);
    });
    await train(true);
    const looks = await page.evaluate(() => {
      const panel = [...document.querySelectorAll("remat-panel")].at(-1) as HTMLElement;
      const section = panel.shadowRoot?.querySelector("section") as HTMLElement;
      return [getComputedStyle(panel).position, getComputedStyle(section).fontSize];
    });
    expect(looks).toEqual(["fixed", "13px"]);
    expect(served.faults).toEqual([]);
  });

  test("is refused where its place is no element of the page", async () => {
    const message = await page.evaluate(() =>
      (globalThis as unknown as typeof program).refusedPanel({ parent: "body" as never }),
    );
    expect(message).toMatch(/parent.*an element of the page/);
  });
});
