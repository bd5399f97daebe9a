import { sampledCases } from "@remat/testkit";
import type { Page as BrowserPage } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type * as program from "../src/predict-in-browser.js";
import { type ServedPage, servePage } from "../src/serve-page.js";

const browserPath = inject("browser");
/** Software that stands for a GPU compiles hundreds of programs for a step. */
const timeoutMs = 600_000;
const example = (name: string) => [name, `../../../examples/${name}/model.js`] as const;
/** Modules, from the sources of what runs in the browser, by name. */
const models = new Map([
  ...["foo", "gpt-3", "lstm", "u-net", "shared-layers"].map(example),
  ["small-mobilenet", "./small-mobilenet.js"],
  // A minute each, and more: asked for by whoever changes what these backends hold.
  ...(process.env["REMAT_LARGE_MODELS"] === undefined
    ? []
    : ["transformer", "gpt-2", "mobilenet-v1", "mobilenet-v2", "resnet50", "efficientnet-b0"].map(example)),
] as const);
const ways = ["stock", "early release", "plan"] as const;
const cases = (["webgl", "webgpu"] as const).flatMap((backend, offset) =>
  sampledCases([...models.keys()], 3, offset).map((model) => ({ backend, model })),
);

type Page = typeof program & { readonly models: Readonly<Record<string, unknown>> };

describe.runIf(browserPath !== "")("in a browser, without its GPU", () => {
  let served: ServedPage;
  let page: BrowserPage;

  beforeAll(async () => {
    const imports = [...models.values()].map((path, i) => `import model${i} from ${JSON.stringify(path)};`);
    const named = [...models.keys()].map((name, i) => `${JSON.stringify(name)}: model${i}`);
    served = await servePage(
      browserPath,
      `export * from "./predict-in-browser.js"; ${imports.join("\n")} export const models = { ${named.join(", ")} };`,
    );
    ({ page } = served);
  });
  afterAll(() => served?.close());

  const takeStep = (
    backend: "webgl" | "webgpu",
    model: string,
    isFake: boolean,
    way: program.Way,
  ): Promise<program.StepOnGpu> =>
    page.evaluate(
      ([backend, model, isFake, way]) =>
        (globalThis as unknown as Page).takeStep(backend, (globalThis as unknown as Page).models[model], isFake, way),
      [backend, model, isFake, way] as const,
    );

  test.each(cases)(
    "a step of $model takes on $backend what is predicted, after each kernel, to the byte",
    async ({ backend, model }) => {
      const mostBytes: number[] = [];
      for (const way of ways) {
        const predicted = await takeStep(backend, model, true, way);
        const measured = await takeStep(backend, model, false, way);
        if (way !== "plan") expect(predicted).toEqual(measured);
        else {
          // A planned step may free a dead tensor one op earlier or later on the device than in the prediction, so only
          // its peaks are compared.
          const { afterKernels, ...told } = predicted;
          expect(told).toEqual({ ...measured, afterKernels: undefined });
          expect(afterKernels.length).toBe(measured.afterKernels.length);
          expect(measured.mismatch).toBeUndefined();
          expect(measured.peakBytes).toBe(measured.plannedPeakBytes);
        }
        mostBytes.push(measured.mostBytes);
      }
      expect(mostBytes[1]).toBeLessThan(mostBytes[0]);
      expect(mostBytes[2]).toBeLessThan(mostBytes[0]);
      expect(served.faults).toEqual([]);
    },
    timeoutMs,
  );

  test.each(["webgl", "webgpu"] as const)(
    "memoryOf tells of %s what a step takes there",
    async (backend) => {
      const { device, told, taken } = await page.evaluate(
        (backend) => (globalThis as unknown as Page).tellMemory(backend),
        backend,
      );
      expect(device).toBe(`${backend}:0`);
      expect(told).toBe(taken);
      expect(served.faults).toEqual([]);
    },
    timeoutMs,
  );
});
