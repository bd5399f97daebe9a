import { describe, expect, test } from "vitest";
import { bundleForBrowser } from "../src/bundle-for-browser.js";

/** Entries that import tfjs and run in a browser. */
const roots = ["dispatch-hook", "leaks", "mod-tracker", "tracer", "checkpoint"].map((name) => `@remat/${name}`);
const parts = [
  "dispatch-hook/backends",
  "dispatch-hook/engine",
  "dispatch-hook/fake",
  "dispatch-hook/kernels",
  "dispatch-hook/release",
  "dispatch-hook/residency",
  "dispatch-hook/tensors",
  "tracer/step",
].map((name) => `@remat/${name}`);

describe("the root of", () => {
  test.each([...roots, ...parts, "remat", "remat/panel"])(
    "%s bundles for a browser, without a module of Node's",
    async (name) => {
      const { imports, text } = await bundleForBrowser(`export * from "${name}";`);
      expect(imports).toEqual([]);
      expect(text.length).toBeGreaterThan(0);
    },
  );
});

test("code that chooses a backend from disk does not", async () => {
  await expect(bundleForBrowser('export * from "@remat/dispatch-hook/backends/node";')).rejects.toThrow(
    /Could not resolve "node:/,
  );
});
