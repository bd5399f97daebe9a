import { allKernels } from "@remat/dispatch-hook/kernels";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type * as leaks from "../src/leaks-in-browser.js";
import type * as pictures from "../src/pictures-in-browser.js";
import type * as replays from "../src/replay-kernels.js";
import { type ServedPage, servePage } from "../src/serve-page.js";
import type * as program from "../src/train-in-browser.js";

const browserPath = inject("browser");
const steps = 3;
/**
 * Less than the peak with early release, but above the lowest feasible budget, because evictions depend on how long
 * kernels took.
 */
const budgets = { webgl: 1_000_000, webgpu: 800_000 };

/**
 * For each backend, kernels whose threads add to the same number, including matrix products with few rows and columns
 * over many elements.
 */
const addInAnyOrder = {
  webgl: [],
  webgpu: [
    "BatchMatMul",
    "Bincount",
    "DenseBincount",
    "Dilation2DBackpropFilter",
    "Dilation2DBackpropInput",
    "ScatterNd",
    "SparseToDense",
    "TensorScatterUpdate",
    "UnsortedSegmentSum",
  ],
};
/**
 * Kernels that no example replays: views, complex numbers and texts, whose results are kept; kernels that draw random
 * numbers or read pictures; and those that read values and compute in JavaScript.
 */
const notReplayed = new Set(
  `Complex Draw ExpandDims FFT FromPixels IFFT Identity Imag Multinomial NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 RaggedGather RaggedRange
  RaggedTensorToTensor Real Reshape SparseFillEmptyRows SparseReshape SparseSegmentMean SparseSegmentSum StaticRegexReplace StringNGrams StringSplit StringToHashBucketFast Unpack`.split(
    /\s+/,
  ),
);

describe.runIf(browserPath !== "")("in a browser", () => {
  let served: ServedPage;
  let page: Page;

  beforeAll(async () => {
    served = await servePage(
      browserPath,
      'export * from "./train-in-browser.js"; export * from "./leaks-in-browser.js"; export * from "./pictures-in-browser.js"; export * from "./replay-kernels.js";',
    );
    ({ page } = served);
  });
  afterAll(() => served?.close());

  const train = (backend: string, way: program.Way): Promise<program.Training> =>
    page.evaluate(([backend, way, steps]) => (globalThis as unknown as typeof program).train(backend, way, steps), [
      backend,
      way,
      steps,
    ] as const);

  const stocks = new Map<string, program.Training>();
  /** Once for each backend: its programs are compiled then. */
  const trainStock = async (backend: string): Promise<program.Training> => {
    const known = stocks.get(backend) ?? (await train(backend, "stock"));
    stocks.set(backend, known);
    return known;
  };

  test.each(["cpu", "webgl", "webgpu"])("stock trains on %s", async (backend) => {
    const { losses, weights, leakedTensors } = await trainStock(backend);
    expect(losses[steps - 1]).toBeLessThan(losses[0]);
    expect(weights.length).toBeGreaterThan(1000);
    expect(leakedTensors).toBe(0);
  });

  test.each(["cpu", "webgl", "webgpu"])(
    "early release gives on %s the weights of stock to the bit, in less memory",
    async (backend) => {
      const stock = await trainStock(backend);
      const early = await train(backend, "early release");
      expect(early.losses).toEqual(stock.losses);
      expect(early.weights).toEqual(stock.weights);
      expect(early.peakBytes).toBeLessThan(stock.peakBytes);
      if (backend === "cpu") expect(early.gpuPeakBytes).toBe(0);
      else expect(early.gpuPeakBytes).toBeLessThan(stock.gpuPeakBytes);
      expect(early.leakedTensors).toBe(0);
      expect(served.faults).toEqual([]);
    },
  );

  test("on wasm stock has no gradients of convolutions; training in less memory brings them, and all give the same weights", async () => {
    await expect(train("wasm", "stock")).rejects.toThrow("'Conv2DBackpropFilter' not registered for backend 'wasm'");
    const early = await train("wasm", "early release");
    const stock = await train("wasm", "stock");
    expect(stock.losses[steps - 1]).toBeLessThan(stock.losses[0]);
    const { peakBytes } = early;
    expect(peakBytes).toBeLessThan(stock.peakBytes);
    for (const way of ["blocks", { budget: "60%", online: true }, { budget: "60%", online: false }] as const) {
      const { losses, weights, leakedTensors } = await train("wasm", way);
      expect({ losses, weights, leakedTensors }).toEqual({
        losses: stock.losses,
        weights: stock.weights,
        leakedTensors: 0,
      });
    }
    expect({ losses: early.losses, weights: early.weights }).toEqual({ losses: stock.losses, weights: stock.weights });
    expect(served.faults).toEqual([]);
  });

  const waysOnGpu = Object.entries(budgets).flatMap(([backend, budget]) => [
    { backend, name: "a budget without a plan", way: { budget, online: true } as program.Way },
    { backend, name: "a budget with a plan", way: { budget, online: false } as program.Way },
    { backend, name: "blocks", way: "blocks" as program.Way },
  ]);

  test.each(waysOnGpu)("$name gives on $backend the weights of stock to the bit", async ({ backend, name, way }) => {
    const stock = await trainStock(backend);
    const trained = await train(backend, way);
    expect(trained.losses).toEqual(stock.losses);
    expect(trained.weights).toEqual(stock.weights);
    expect(trained.leakedTensors).toBe(0);
    expect(trained.gpuPeakBytes).toBeLessThan(stock.gpuPeakBytes);
    expect(trained.allocatedPeakBytes).toBeLessThan(stock.allocatedPeakBytes);
    // A plan may do with freeing what is read no more in another order.
    if (name === "a budget without a plan") expect(trained.recomputedOps).toBeGreaterThan(0);
    if (name === "a budget with a plan") expect(trained.plan).toBe("planned");
    expect(served.faults).toEqual([]);
  });

  test.each([
    ["webgl", 75],
    ["webgpu", 80],
  ] as const)("a step looks on %s at what a camera shows, and recomputes the rest", async (backend, percent) => {
    const trainOn = (way: Parameters<typeof pictures.trainOnPictures>[1]) =>
      page.evaluate(([backend, way]) => (globalThis as unknown as typeof pictures).trainOnPictures(backend, way), [
        backend,
        way,
      ] as const);
    const { losses } = await trainOn("stock");
    expect(losses[3]).not.toBe(losses[0]);
    expect((await trainOn("early release")).losses).toEqual(losses);
    const within = await trainOn(percent);
    expect(within.losses).toEqual(losses);
    expect(within.recomputedOps).toBeGreaterThan(0);
    expect(
      await page.evaluate((backend) => (globalThis as unknown as typeof pictures).recordPictures(backend), backend),
    ).toEqual([1, 0]);
    expect(served.faults).toEqual([]);
  });

  test.each(["webgl", "webgpu"])(
    "a model that is mostly weights is updated on %s within 80 % of what stock takes",
    async (backend) => {
      const { stockBytes, toldBytes, gpuBytes, isEqual } = await page.evaluate(
        (backend) => (globalThis as unknown as typeof program).trainDense(backend, "80%", 4),
        backend,
      );
      expect(isEqual).toBe(true);
      expect(toldBytes / stockBytes).toBeLessThan(1.02);
      expect(toldBytes / stockBytes).toBeGreaterThan(0.98);
      for (const bytes of gpuBytes.slice(1)) expect(bytes).toBeLessThanOrEqual(0.8 * toldBytes);
      expect(served.faults).toEqual([]);
    },
  );

  test.each(["webgl", "webgpu"])(
    "a budget that is too small on %s ends the step before the optimizer",
    async (backend) => {
      const { code, updates } = await page.evaluate(
        (backend) => (globalThis as unknown as typeof program).trainInTooLittle(backend),
        backend,
      );
      expect([code, updates]).toEqual(["BUDGET_INFEASIBLE", 0]);
    },
  );

  describe.each(["webgl", "webgpu"])("results of each kernel on %s", (backend) => {
    const replay = (usesHost: boolean): Promise<replays.Replayed> =>
      page.evaluate(
        ([backend, usesHost]) => (globalThis as unknown as typeof replays).replayKernels(backend, usesHost),
        [backend, usesHost] as const,
      );
    let replayed: replays.Replayed;
    beforeAll(async () => {
      replayed = await replay(false);
    });

    test.each([...allKernels.keys()])("is recomputed to the bit, or held: %s", (kernel) => {
      const { kernels, differing, inAnyOrder, untried } = replayed;
      expect(differing).not.toContain(kernel);
      // A kernel is in one list: it is recomputed, or held; or it is not tried, or the backend has none of that name.
      expect([kernels, inAnyOrder, untried].filter((list) => list.includes(kernel)).length).toBeLessThanOrEqual(
        kernel === "BatchMatMul" ? 2 : 1,
      );
    });

    test("is known of most, and is held where it adds in any order", () => {
      const { kernels, onHost, inAnyOrder, untried } = replayed;
      expect(kernels.length).toBeGreaterThan(100);
      expect(onHost).toEqual([]);
      expect(inAnyOrder).toEqual(addInAnyOrder[backend as keyof typeof addInAnyOrder]);
      expect(untried.filter((kernel) => !notReplayed.has(kernel))).toEqual([]);
    });

    test("is held where JavaScript has made it", async () => {
      const { differing, onHost } = await replay(true);
      expect(differing).toEqual([]);
      expect(onHost).toEqual(expect.arrayContaining(["Add", "Cast", "Exp", "Multiply"]));
    });
  });

  /** In a page of its own: a context that is lost is so for good. */
  const lose = async (isRestored: boolean): Promise<program.LostTraining> => {
    const other = await served.browser.newPage();
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
    expect(stopped.message).toMatch(/^the WebGL context was lost before \w+ ran with [\d.]+ \w+ in textures, /);
    expect(stopped.runsAfterwards).toBe(true);
  });

  test.each(["cpu", "webgl"])("leaks are found by their line on %s", async (backend) => {
    const found = await page.evaluate(
      (backend) => (globalThis as unknown as typeof leaks).findLeaksInPage(backend),
      backend,
    );
    const [verdict, maker] = found.message.split("\n");
    expect(verdict).toBe("memory grows by 1 tensor and 128 B per run, seen in 6 runs");
    // Lines of the bundle: a page without source maps has no others.
    expect(maker).toMatch(/\/train\.js:\d+:\d+: 1 per run, 6 alive, 768 B$/);
    expect(found).toMatchObject({ matcherPasses: true, cleanMessage: "", cleanMatcherPasses: false });
  });
});
