import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { selectBackend } from "../src/index.js";

/** A project with packages that fail, or work, as we say. */
let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "remat-backend-"));
});
afterEach(() => rmSync(project, { recursive: true }));

function install(packageName: string, source: string): void {
  const folder = join(project, "node_modules", packageName);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: packageName, version: "4.22.0", main: "index.js" }),
  );
  writeFileSync(join(folder, "index.js"), source);
}

/** A package that brings the backend `tensorflow`, as tfjs-node does. */
const native = (usesGpu: boolean) => `
  const engine = globalThis._tfengine;
  engine.registerBackend("tensorflow", () => ({ isUsingGpuDevice: ${usesGpu}, dispose() {} }), 3);`;

describe("selectBackend", () => {
  afterEach(() => {
    if (tf.engine().backendNames().includes("tensorflow")) tf.removeBackend("tensorflow");
  });

  test("takes the first that works and says why not an earlier one", async () => {
    const selected = await selectBackend({ from: project });
    expect(selected).toMatchObject({ package: "@tensorflow/tfjs-backend-wasm", backend: "wasm", usesGpu: false });
    expect(selected.attempts.map(({ package: name, selected, missing }) => [name, selected, missing])).toEqual([
      ["@tensorflow/tfjs-node-gpu", false, "module"],
      ["@tensorflow/tfjs-node", false, "module"],
      ["@tensorflow/tfjs-backend-wasm", true, undefined],
    ]);
    expect(selected.attempts[0].reason).toContain("@tensorflow/tfjs-node-gpu");
    expect(selected.attempts.at(-1)?.reason).toBe("");
    expect(tf.getBackend()).toBe("wasm");
    expect(tf.tidy(() => [...tf.add([1, 2], 1).dataSync()])).toEqual([2, 3]);
  });

  test("takes the backend that it is told", async () => {
    const selected = await selectBackend({ from: project, backend: "cpu" });
    expect(selected.attempts.map(({ package: name }) => name)).toEqual(["@tensorflow/tfjs-backend-cpu"]);
    expect(tf.getBackend()).toBe("cpu");
  });

  test.each([
    ["addon", "The Node.js native addon module (tfjs_binding.node) can not be found at path: /x/tfjs_binding.node."],
    ["library", "libtensorflow_cc.so.2: cannot open shared object file: No such file or directory"],
    ["library", "Error: libcudart.so.12: cannot open shared object file"],
    ["start", "something else"],
  ])("tells what is missing of an installed package: %s", async (missing, message) => {
    install("@tensorflow/tfjs-node-gpu", `throw new Error(${JSON.stringify(message)});`);
    const { attempts, backend } = await selectBackend({ from: project });
    expect(backend).toBe("wasm");
    expect(attempts[0]).toEqual({
      package: "@tensorflow/tfjs-node-gpu",
      backend: "tensorflow",
      selected: false,
      missing,
      reason: message,
    });
  });

  test.each([true, false])("tfjs-node-gpu is taken without a device, too: %s", async (usesGpu) => {
    install("@tensorflow/tfjs-node-gpu", native(usesGpu));
    const selected = await selectBackend({ from: project });
    expect(selected).toMatchObject({ package: "@tensorflow/tfjs-node-gpu", backend: "tensorflow", usesGpu });
    expect(selected.attempts).toHaveLength(1);
  });

  test("puts back what Node 23 took away before tfjs-node is loaded", async () => {
    const util = createRequire(import.meta.url)("node:util");
    const { isNullOrUndefined } = util;
    util.isNullOrUndefined = undefined;
    try {
      install("@tensorflow/tfjs-node", `if (!require("util").isNullOrUndefined(null)) throw 1; ${native(false)}`);
      const { package: name } = await selectBackend({ from: project });
      expect(name).toBe("@tensorflow/tfjs-node");
    } finally {
      util.isNullOrUndefined = isNullOrUndefined;
    }
  });

  test("says all when nothing works", async () => {
    install("@tensorflow/tfjs-node-gpu", "throw new Error('broken');");
    await expect(selectBackend({ from: project, backend: "tensorflow" })).rejects.toThrow(
      /no backend works here.*tfjs-node-gpu: broken.*tfjs-node: .*Install one of/,
    );
  });
});
