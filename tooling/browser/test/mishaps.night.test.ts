import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type * as program from "../src/mishaps-in-browser.js";
import { type ServedPage, servePage } from "../src/serve-page.js";

const browserPath = inject("browser");
const ways = ["early release", "budget"] as const;

describe.runIf(browserPath !== "")("in a browser", () => {
  let served: ServedPage;
  let page: Page;

  beforeAll(async () => {
    served = await servePage(browserPath, 'export * from "./mishaps-in-browser.js";');
    ({ page } = served);
  });
  afterAll(() => served?.close());

  const across = (backends: readonly string[], way: program.Way): Promise<program.Outcome> =>
    page.evaluate(([backends, way]) => (globalThis as unknown as typeof program).trainAcross(backends, way), [
      backends,
      way,
    ] as const);
  const inWorker = (way: program.Way, isEnded: boolean): Promise<readonly number[] | "ended"> =>
    page.evaluate(([way, isEnded]) => (globalThis as unknown as typeof program).trainInWorker(way, isEnded), [
      way,
      isEnded,
    ] as const);

  test.each(ways)("a backend that is changed between steps changes no weight (%s)", async (way) => {
    const backends = ["webgl", "cpu", "cpu", "webgl"];
    const stock = await across(backends, "stock");
    expect(await across(backends, way)).toEqual({ ...stock, isRestored: true });
    expect(stock.weights.length).toBeGreaterThan(1000);
    expect(served.faults).toEqual([]);
  });

  test.each(ways)(
    "a worker trains as the page does, and one that is ended in a step leaves nothing (%s)",
    async (way) => {
      expect(await inWorker(way, true)).toBe("ended");
      const stock = await across(["webgl", "webgl"], "stock");
      expect(await inWorker(way, false)).toEqual(stock.weights);
      expect(await across(["webgl", "webgl"], way)).toEqual({ ...stock, isRestored: true });
      expect(served.faults).toEqual([]);
    },
  );

  test.each(ways)(
    "a tab in the background trains to the same weights, and its panel is drawn when it is looked at (%s)",
    async (way) => {
      const stock = await across(["webgl", "webgl", "webgl"], "stock");
      const { weights, shown } = await page.evaluate(
        (way) => (globalThis as unknown as typeof program).trainInBackground(way),
        way,
      );
      expect(weights).toEqual(stock.weights);
      expect(shown).toEqual(["No step has been seen yet.", expect.stringMatching(/^Step 3: peak /)]);
      expect(served.faults).toEqual([]);
    },
  );

  test.each(ways)(
    "training with another copy of tfjs is rejected by name, and continues unmodified (%s)",
    async (way) => {
      const other = await served.browser.newPage();
      const { resolve } = createRequire(new URL("../../../packages/checkpoint/package.json", import.meta.url));
      await other.addInitScript({ path: resolve("@tensorflow/tfjs/dist/tf.min.js") });
      await other.goto(page.url());
      await other.waitForFunction("globalThis.isLoaded === true");
      const copy = (way: program.Way): Promise<program.CopyTrained> =>
        other.evaluate((way) => (globalThis as unknown as typeof program).trainOtherCopy(way), way);
      expect(await copy(way)).toEqual({
        code: "TFJS_COPIES",
        message: expect.stringMatching(/^two copies of @tensorflow\/tfjs-core are loaded/),
        weights: [0.5, 1],
        isRestored: true,
      });
      expect(await copy("stock")).toMatchObject({ code: undefined, weights: [0.25, 0.5] });
      await other.close();
    },
  );
});
