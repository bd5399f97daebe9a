import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { selectBackend } from "../src/index.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-backend-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function install(name: string, code: string): void {
  const home = join(folder, "node_modules", name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ name, version: "0.0.0", main: "index.js" }));
  writeFileSync(join(home, "index.js"), code);
}

describe("selectBackend", () => {
  it("takes the first that works and says why those before it do not", async () => {
    install(
      "@tensorflow/tfjs-node-gpu",
      "throw new Error('libcudart.so.12: cannot open shared object file: No such file or directory')",
    );
    install(
      "@tensorflow/tfjs-node",
      "throw new Error(`The Node.js native addon module (tfjs_binding.node) can not be found at path: x`)",
    );
    const { backend, package: name, usesGpu, attempts } = await selectBackend({ from: folder });
    expect({ backend, name, usesGpu, current: tf.getBackend() }).toEqual({
      backend: "wasm",
      name: "@tensorflow/tfjs-backend-wasm",
      usesGpu: false,
      current: "wasm",
    });
    expect(attempts.map(({ package: tried, selected, missing }) => ({ tried, selected, missing }))).toEqual([
      { tried: "@tensorflow/tfjs-node-gpu", selected: false, missing: "library" },
      { tried: "@tensorflow/tfjs-node", selected: false, missing: "addon" },
      { tried: "@tensorflow/tfjs-backend-wasm", selected: true, missing: undefined },
    ]);
    expect(attempts[0].reason).toBe("libcudart.so.12: cannot open shared object file: No such file or directory");
  });

  it("computes on what it selected", async () => {
    await selectBackend({ backend: "wasm" });
    const product = tf.matMul(
      tf.tensor2d([
        [1, 2],
        [3, 4],
      ]),
      tf.tensor2d([[1], [1]]),
    );
    expect(Array.from(await product.data())).toEqual([3, 7]);
    await selectBackend({ backend: "cpu" });
    expect(tf.getBackend()).toBe("cpu");
  });

  it("refuses with every reason where none works", async () => {
    install("@tensorflow/tfjs-node-gpu", "throw new Error('no GPU today')");
    install("@tensorflow/tfjs-node", "module.exports = {}");
    await expect(selectBackend({ backend: "tensorflow", from: folder })).rejects.toThrow(
      /no backend works here: @tensorflow\/tfjs-node-gpu: no GPU today; @tensorflow\/tfjs-node: .*tensorflow/,
    );
  });
});
