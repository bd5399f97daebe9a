import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { bundleForBrowser } from "../src/bundle-for-browser.js";
import type * as leaks from "../src/leaks-in-browser.js";
import type * as program from "../src/train-in-browser.js";

const browserPath = inject("browser");
const steps = 3;
const html =
  '<!doctype html><title>train</title><script type="module">import * as program from "/train.js"; Object.assign(globalThis, program);</script>';

describe.runIf(browserPath !== "")("in a browser", () => {
  let browser: Browser;
  let server: Server;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    const { text } = await bundleForBrowser(
      'export * from "./train-in-browser.js"; export * from "./leaks-in-browser.js";',
    );
    // WebGPU is there only in a secure context, which localhost is.
    server = createServer((request, response) => {
      const isModule = request.url === "/train.js";
      response.setHeader("content-type", isModule ? "text/javascript" : "text/html");
      response.end(isModule ? text : html);
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const flags = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
    flags.push("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan");
    if (process.getuid?.() === 0) flags.push("--no-sandbox");
    browser = await chromium.launch({ executablePath: browserPath, args: flags });
    page = await browser.newPage();
    page.on("pageerror", (error) => faults.push(error.message));
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction("globalThis.train !== undefined");
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  const train = (backend: string, isEarly: boolean): Promise<program.Training> =>
    page.evaluate(
      ([backend, isEarly, steps]) => (globalThis as unknown as typeof program).train(backend, isEarly, steps),
      [backend, isEarly, steps] as const,
    );

  test.each(["cpu", "webgl", "webgpu"])(
    "early release gives on %s the weights of stock to the bit, in less memory",
    async (backend) => {
      const stock = await train(backend, false);
      const early = await train(backend, true);
      expect(stock.losses[steps - 1]).toBeLessThan(stock.losses[0]);
      expect(early.losses).toEqual(stock.losses);
      expect(early.weights).toEqual(stock.weights);
      expect(early.weights.length).toBeGreaterThan(1000);
      expect(early.peakBytes).toBeLessThan(stock.peakBytes);
      if (backend === "cpu") expect(early.gpuPeakBytes).toBe(0);
      else expect(early.gpuPeakBytes).toBeLessThan(stock.gpuPeakBytes);
      expect([stock.leakedTensors, early.leakedTensors]).toEqual([0, 0]);
      expect(faults).toEqual([]);
    },
  );

  /** In a page of its own: a context that is lost is so for good. */
  const lose = async (isRestored: boolean): Promise<program.LostTraining> => {
    const other = await browser.newPage();
    await other.goto(page.url());
    await other.waitForFunction("globalThis.loseContext !== undefined");
    const found = await other.evaluate(
      (isRestored) => (globalThis as unknown as typeof program).loseContext(isRestored, 4),
      isRestored,
    );
    await other.close();
    return found;
  };

  test.each([false, true])("a context that is lost stops training (restored: %s)", async (isRestored) => {
    const stopped = await lose(isRestored);
    expect(stopped.steps).toBe(2);
    expect([stopped.code, stopped.readCode]).toEqual(["WEBGL_CONTEXT_LOST", "WEBGL_CONTEXT_LOST"]);
    expect(stopped.message).toMatch(/^the WebGL context was lost before \w+ ran, with [\d.]+ \w+ in textures: /);
    expect(stopped.runsAfterwards).toBe(true);
  });

  test.each(["cpu", "webgl"])("leaks are found by their line on %s", async (backend) => {
    const found = await page.evaluate(
      (backend) => (globalThis as unknown as typeof leaks).findLeaksInPage(backend),
      backend,
    );
    const [verdict, maker] = found.message.split("\n");
    expect(verdict).toBe("memory grows by 1 tensor and 128 B a run, seen in 6 runs");
    // Lines of the bundle: a page without source maps has no others.
    expect(maker).toMatch(/\/train\.js:\d+:\d+: 1 a run, 6 alive, 768 B$/);
    expect(found).toMatchObject({ matcherPasses: true, cleanMessage: "", cleanMatcherPasses: false });
  });
});
