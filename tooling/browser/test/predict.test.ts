import type { Page as BrowserPage } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type * as program from "../src/predict-in-browser.js";
import { type ServedPage, servePage } from "../src/serve-page.js";

const browserPath = inject("browser");
const examples = ["foo", "transformer", "gpt-2", "lstm", "u-net", "shared-layers"];
const cases = (["webgl", "webgpu"] as const).flatMap((backend) => examples.map((model) => ({ backend, model })));

type Page = typeof program & { readonly models: Readonly<Record<string, unknown>> };

describe.runIf(browserPath !== "")("in a browser, without its GPU", () => {
  let served: ServedPage;
  let page: BrowserPage;

  beforeAll(async () => {
    const imports = examples.map((name, i) => `import model${i} from "../../../examples/${name}/model.js";`);
    const models = examples.map((name, i) => `${JSON.stringify(name)}: model${i}`);
    served = await servePage(
      browserPath,
      `export * from "./predict-in-browser.js"; ${imports.join("\n")} export const models = { ${models.join(", ")} };`,
    );
    ({ page } = served);
  });
  afterAll(() => served?.close());

  const takeStep = (
    backend: "webgl" | "webgpu",
    model: string,
    isFake: boolean,
    isEarly: boolean,
  ): Promise<program.StepOnGpu> =>
    page.evaluate(
      ([backend, model, isFake, isEarly]) =>
        (globalThis as unknown as Page).takeStep(
          backend,
          (globalThis as unknown as Page).models[model],
          isFake,
          isEarly,
        ),
      [backend, model, isFake, isEarly] as const,
    );

  test.each(cases)(
    "a step of $model takes on $backend what is predicted, after each kernel, to the byte",
    async ({ backend, model }) => {
      for (const isEarly of [false, true]) {
        const predicted = await takeStep(backend, model, true, isEarly);
        const measured = await takeStep(backend, model, false, isEarly);
        expect(predicted).toEqual(measured);
        expect(measured.mostBytes).toBeGreaterThan(0);
      }
      expect(served.faults).toEqual([]);
    },
  );

  test.each(["webgl", "webgpu"] as const)("memoryOf tells of %s what a step takes there", async (backend) => {
    const { device, told, taken } = await page.evaluate(
      (backend) => (globalThis as unknown as Page).tellMemory(backend),
      backend,
    );
    expect(device).toBe(`${backend}:0`);
    expect(told).toBe(taken);
    expect(served.faults).toEqual([]);
  });
});
