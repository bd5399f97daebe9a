import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { bundlePackage } from "../bundle-package.js";

const folder = mkdtempSync(join(tmpdir(), "remat-bundle-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const files = {
  "package.json": JSON.stringify({
    type: "module",
    exports: {
      ".": { "@remat/source": "./src/index.ts", default: "./dist/index.js" },
      "./part": { "@remat/source": "./src/part/index.ts", default: "./dist/part/index.js" },
      "./package.json": "./package.json",
    },
  }),
  "src/count.ts": "let count = 0;\nexport const next = (): number => ++count;\n",
  "src/index.ts": 'import { next } from "./count.js";\nexport { next };\nexport { join } from "node:path";\n',
  "src/part/index.ts": 'export { next as nextOfPart } from "../count.js";\n',
  "dist/index.d.ts": "export declare const next: () => number;\n",
  "dist/gone.js": "export {};\n",
};

describe("bundlePackage", () => {
  it("writes a file for each entry, whose entries share what they have in common, and leaves nothing of before", async () => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    await bundlePackage(folder);
    const written = readdirSync(join(folder, "dist"), { recursive: true, encoding: "utf8" }).toSorted();
    expect(written.map((file) => file.replace(/[A-Z0-9]{8}/, "HASH"))).toEqual([
      "index.d.ts",
      "index.js",
      "part",
      "part/index.js",
      "shared-HASH.js",
    ]);
    const load = (file: string) => import(pathToFileURL(join(folder, "dist", file)).href);
    const { next, join: joinPaths } = (await load("index.js")) as { next(): number; join: unknown };
    const { nextOfPart } = (await load("part/index.js")) as { nextOfPart(): number };
    expect([next(), nextOfPart(), next()]).toEqual([1, 2, 3]);
    expect(joinPaths).toBe(join);
  });

  it("writes a module for each source where a page's bundler is to leave some out", async () => {
    const other = join(folder, "in-pages");
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(other, path, ".."), { recursive: true });
      writeFileSync(join(other, path), text.replaceAll('"default":', '"browser":"./dist/modules/index.js","default":'));
    }
    await bundlePackage(other);
    const modules = readdirSync(join(other, "dist/modules"), { recursive: true, encoding: "utf8" }).toSorted();
    expect(modules).toEqual(["count.js", "index.js", "part", "part/index.js"]);
    const { next } = (await import(pathToFileURL(join(other, "dist/modules/index.js")).href)) as { next(): number };
    expect(next()).toBe(1);
  });

  it("requires TensorFlow.js in Node, and imports it in the modules for bundlers", async () => {
    const third = join(folder, "with-tfjs");
    const written: Record<string, string> = {
      "package.json": JSON.stringify({
        type: "module",
        exports: {
          ".": {
            "@remat/source": "./src/index.ts",
            "node-addons": "./dist/index.js",
            default: "./dist/modules/index.js",
          },
        },
      }),
      "node_modules/@tensorflow/tfjs-core/package.json": JSON.stringify({ main: "core.js" }),
      "node_modules/@tensorflow/tfjs-core/core.js":
        "let count = 0;\nexports.add = () => ++count;\nexports.other = 2;\n",
      "src/index.ts":
        'import * as tf from "@tensorflow/tfjs-core";\nexport const add = tf.add;\nexport const all = { ...tf };\n',
      "dist/index.d.ts": "export {};\n",
    };
    for (const [path, text] of Object.entries(written)) {
      mkdirSync(join(third, path, ".."), { recursive: true });
      writeFileSync(join(third, path), text);
    }
    await bundlePackage(third);
    const load = (file: string) => import(pathToFileURL(join(third, file)).href) as Promise<Record<string, unknown>>;
    const [inNode, forBundlers, core] = [
      await load("dist/index.js"),
      await load("dist/modules/index.js"),
      await load("node_modules/@tensorflow/tfjs-core/core.js"),
    ];
    expect(inNode["add"]).toBe(core["add"]);
    expect(forBundlers["add"]).toBe(core["add"]);
    expect(inNode["all"]).toEqual({ add: core["add"], other: 2 });
    const imports = /^import .* from "@tensorflow\/tfjs-core";$/m;
    expect(readFileSync(join(third, "dist/index.js"), "utf8")).not.toMatch(imports);
    expect(readFileSync(join(third, "dist/modules/index.js"), "utf8")).toMatch(imports);
  });
});
