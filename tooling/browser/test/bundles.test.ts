import { describe, expect, test } from "vitest";
import { bundleForBrowser } from "../src/bundle-for-browser.js";

/** What touches tfjs, and runs in a browser. */
const roots = [
  "kernels",
  "backends",
  "dispatch-hook",
  "fake",
  "leaks",
  "mod-tracker",
  "tracer",
  "checkpoint",
  "panel",
].map((name) => `@remat/${name}`);
const parts = [
  "dispatch-hook/engine",
  "dispatch-hook/release",
  "dispatch-hook/residency",
  "dispatch-hook/tensors",
  "tracer/step",
].map((name) => `@remat/${name}`);

describe("the root of", () => {
  test.each([...roots, ...parts, "remat"])("%s bundles for a browser, without a module of Node's", async (name) => {
    const { imports, text } = await bundleForBrowser(`export * from "${name}";`);
    expect(imports).toEqual([]);
    expect(text.length).toBeGreaterThan(0);
  });
});

test("what chooses a backend from disk does not", async () => {
  await expect(bundleForBrowser('export * from "@remat/dispatch-hook/backends/node";')).rejects.toThrow(
    /Could not resolve "node:/,
  );
});
