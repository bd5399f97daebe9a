import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type * as gradients from "../src/gradients-in-browser.js";
import { minifiers } from "../src/minified-bundles.js";
import type * as prediction from "../src/predict-in-browser.js";
import { type ServedPage, servePage } from "../src/serve-page.js";

const browserPath = inject("browser");
const source = `export * from "./gradients-in-browser.js"; export * from "./predict-in-browser.js";
  import model from "../../../examples/u-net/model.js"; export { model };`;

type Page = typeof gradients & typeof prediction & { readonly model: unknown };

describe.runIf(browserPath !== "")("in a browser", () => {
  const served: ServedPage[] = [];
  afterAll(() => Promise.all(served.map((each) => each.close())));

  const open = async (bundle?: (typeof minifiers)[string]) => {
    const page = await servePage(browserPath, source, bundle);
    served.push(page);
    const kernelsOf = (backend: string, wanted: "equal" | "none"): Promise<readonly string[]> =>
      page.page.evaluate(([backend, wanted]) => (globalThis as unknown as Page).kernelsOfGradients(backend, wanted), [
        backend,
        wanted,
      ] as const);
    const isMinified = (): Promise<boolean> => page.page.evaluate(() => (globalThis as unknown as Page).isMinified());
    const takeStep = (isFake: boolean): Promise<prediction.StepOnGpu> =>
      page.page.evaluate((isFake) => {
        const { takeStep, model } = globalThis as unknown as Page;
        return takeStep("webgl", model, isFake, "plan");
      }, isFake);
    return { kernelsOf, isMinified, takeStep, faults: page.faults };
  };
  type Opened = Awaited<ReturnType<typeof open>>;
  let plain: Opened;

  beforeAll(async () => {
    plain = await open();
  });

  describe.each(Object.keys(minifiers))("a page that is minified by %s", (name) => {
    let minified: Opened;
    beforeAll(async () => {
      minified = await open(minifiers[name]);
    });

    test("has other texts of functions", async () => {
      expect([await plain.isMinified(), await minified.isMinified()]).toEqual([false, true]);
    });

    test.each(["cpu", "wasm", "webgl"])("runs on %s the gradients that one does which is not", async (backend) => {
      const stock = await minified.kernelsOf(backend, "none");
      const faster = await minified.kernelsOf(backend, "equal");
      expect(stock.filter((kernel) => kernel === "Tile")).toHaveLength(1);
      expect(faster).not.toContain("Tile");
      const adds: Readonly<Record<string, string>> = { cpu: "AddN", wasm: "UnsortedSegmentSum" };
      if (backend in adds) expect(faster).toContain(adds[backend]);
      expect(faster).toEqual(await plain.kernelsOf(backend, "equal"));
      expect(minified.faults).toEqual([]);
    });

    test("takes in a planned step what one does which is not, and what is predicted", async () => {
      const [predicted, measured] = [await minified.takeStep(true), await minified.takeStep(false)];
      expect(measured).toEqual(await plain.takeStep(false));
      expect(predicted.mostBytes).toBe(measured.mostBytes);
      expect(measured.mismatch).toBeUndefined();
      expect(measured.peakBytes).toBe(measured.plannedPeakBytes);
      expect(minified.faults).toEqual([]);
    });
  });
});
