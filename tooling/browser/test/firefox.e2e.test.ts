import { atNight } from "@remat/testkit";
import { launchFirefox } from "@remat/testkit/firefox";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type ServedBundle, serveBundle } from "../src/serve-page.js";
import type * as program from "../src/train-in-browser.js";

const firefoxPath = inject("firefox");
const steps = 3;

/**
 * Backends whose kernels Firefox itself compiles. The cpu backend is the same JavaScript in every browser, so only the
 * night tests it.
 */
const backends = ["webgl", "wasm", ...(atNight ? ["cpu"] : [])];

describe.runIf(firefoxPath !== "").each(backends)("in Firefox, on %s", (backend) => {
  let served: ServedBundle;
  let browser: Awaited<ReturnType<typeof launchFirefox>>;
  let page: Awaited<ReturnType<typeof browser.newPage>>;
  let stock: program.Training;

  const train = (way: program.Way): Promise<program.Training> =>
    page.evaluate(
      (backend, way, steps) => (globalThis as unknown as typeof program).train(backend, way, steps),
      backend,
      way,
      steps,
    );

  beforeAll(async () => {
    served = await serveBundle('export * from "./train-in-browser.js";');
    browser = await launchFirefox(firefoxPath);
    page = await browser.newPage();
    await page.goto(served.address);
    await page.waitForFunction("globalThis.isLoaded === true");
    stock = await train(backend === "wasm" ? "early release" : "stock");
  });
  afterAll(async () => {
    await browser?.close();
    served?.close();
  });

  test("it trains", () => {
    expect(stock.losses[steps - 1]).toBeLessThan(stock.losses[0]);
    expect(stock.weights.length).toBeGreaterThan(1000);
    expect(stock.leakedTensors).toBe(0);
  });

  test.each(["early release", { budget: 1_000_000, online: true }, "blocks"] as const)(
    "%s gives the same weights, to the bit",
    async (way) => {
      const { losses, weights, leakedTensors, peakBytes } = await train(way);
      expect({ losses, weights }).toEqual({ losses: stock.losses, weights: stock.weights });
      expect(leakedTensors).toBe(0);
      if (backend !== "wasm") expect(peakBytes).toBeLessThan(stock.peakBytes);
    },
  );
});
