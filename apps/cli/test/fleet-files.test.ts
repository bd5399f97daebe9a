import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildHash, hashOf } from "../src/fit/build-hash.js";
import { contentKey } from "../src/fit/content-key.js";
import { fleetFilesOf, GivenFiles } from "../src/fit/fleet-files.js";
import type { FitJob } from "../src/fit/steps-of-job.js";
import { modelSource } from "../src/model-source.js";
import { twoLayers } from "./fixtures/two-layers.js";

const folder = mkdtempSync(join(tmpdir(), "remat-fleet-files-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);
const code = 'import { size } from "./size.mjs";\nexport default () => size;\n';

beforeAll(() => {
  writeFileSync(at("model.json"), JSON.stringify(twoLayers("softmax")));
  writeFileSync(at("model.mjs"), code);
  writeFileSync(at("size.mjs"), "export const size = 1;\n");
  writeFileSync(at("layers.mjs"), "export default () => [];\n");
});

const jobOf = (name: string, layers?: string): FitJob => ({
  sources: [modelSource(at(name))],
  options: {
    request: { batch: undefined, optimizer: "adam", backend: "cpu" },
    data: undefined,
    ...(layers !== undefined && { layers: at(layers) }),
  },
});

describe("a job of a fleet", () => {
  it("names files by hashes alone, and a worker that was given them finds them", () => {
    for (const [name, layers] of [
      ["model.json", undefined],
      ["model.mjs", undefined],
      ["model.json", "layers.mjs"],
    ] as const) {
      const job = jobOf(name, layers);
      const files = fleetFilesOf(job);
      expect(JSON.stringify(files)).not.toContain(folder);
      const given = new GivenFiles([at("model.json"), at("model.mjs")], layers && at(layers));
      const found = given.jobOf(JSON.parse(JSON.stringify(files)));
      expect(found.sources).toEqual(job.sources);
      expect(found.options.layers).toBe(job.options.layers);
      expect(contentKey(fleetFilesOf(found))).toBe(contentKey(files));
    }
  });

  it("is refused if it names a file that the worker was not given, or layers", () => {
    const given = new GivenFiles([at("model.json")], undefined);
    for (const job of [jobOf("model.mjs"), jobOf("model.json", "layers.mjs")])
      expect(() => given.jobOf(fleetFilesOf(job))).toThrow(
        expect.objectContaining({ code: "FIT_FLEET", message: expect.stringContaining("does not have") }),
      );
  });

  it("is refused if it names a path or a module anywhere", () => {
    const files = fleetFilesOf(jobOf("model.json"));
    const [source] = files.sources;
    const given = new GivenFiles([at("model.json")], at("layers.mjs"));
    const hostile: readonly (readonly [unknown, string])[] = [
      [{ ...files, sources: [{ ...source, hash: at("model.mjs") }] }, "sources.0.hash"],
      [{ ...files, sources: [{ ...source, path: at("model.mjs") }] }, "sources.0.path"],
      [{ ...files, sources: [at("model.mjs")] }, "sources.0"],
      [{ ...files, sources: [] }, "sources"],
      [{ ...files, layers: at("layers.mjs") }, "layers"],
      [{ ...files, request: { data: at("layers.mjs") } }, "request.data"],
      [{ ...files, request: { loss: at("layers.mjs") } }, "request.loss"],
      [{ ...files, request: { optimizer: "./optimizer.mjs" } }, "request.optimizer"],
      [{ ...files, options: { layers: at("layers.mjs") } }, "options"],
      [jobOf("model.mjs"), "sources.0.hash"],
      [null, "files"],
      [at("model.mjs"), "files"],
    ];
    for (const [job, field] of hostile)
      expect(() => given.jobOf(job)).toThrow(
        expect.objectContaining({ code: "FIT_FLEET", message: expect.stringContaining(`field '${field}'`) }),
      );
  });

  it("is not answered about files that were changed, also those that a model imports, nor about a FIFO", () => {
    const files = fleetFilesOf(jobOf("model.mjs"));
    const given = new GivenFiles([at("model.mjs")], undefined);
    writeFileSync(at("size.mjs"), "export const size = 2;\n");
    expect(() => given.jobOf(files)).toThrow("does not have");
    writeFileSync(at("size.mjs"), "export const size = 1;\n");
    expect(given.jobOf(files).sources[0].path).toBe(at("model.mjs"));
    rmSync(at("model.mjs"));
    spawnSync("mkfifo", [at("model.mjs")]);
    expect(() => given.jobOf(files)).toThrow("does not have");
    rmSync(at("model.mjs"));
    writeFileSync(at("model.mjs"), code);
  });
});

describe("the hash of a build", () => {
  const manifest = (packageName: string, version: string, dependencies = {}) =>
    JSON.stringify({ name: packageName, version, dependencies });

  /** A package with another one of ours, and one of others, built or as sources. */
  function install(name: string, change: (root: string) => void = () => undefined): string {
    const root = at(name);
    const write = (path: string, text: string): void => {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    write("package.json", manifest("@remat/cli", "0.0.0", { "@remat/planner": "*", highs: "*" }));
    write("dist/fit/build-hash.js", "code");
    write("dist/plan.js", "code");
    write("dist/plan.d.ts", "types");
    write("README.md", "text");
    write("node_modules/@remat/planner/package.json", manifest("@remat/planner", "0.0.0"));
    write("node_modules/@remat/planner/dist/search/search.js", "code");
    write("node_modules/highs/package.json", manifest("highs", "1.0.0"));
    write("node_modules/highs/index.js", "code");
    change(root);
    return hashOf(join(root, "dist/fit/build-hash.js"));
  }
  const writing = (path: string, text: string) => (root: string) => writeFileSync(join(root, path), text);

  it("is the same for the same code, wherever it is", () => {
    expect(install("one")).toBe(install("two"));
    expect(install("typed", writing("dist/plan.d.ts", "others"))).toBe(install("one"));
    expect(buildHash()).toBe(hashOf(fileURLToPath(new URL("../src/fit/build-hash.ts", import.meta.url))));
  });

  it("reads each package once, though pnpm links it into the folder of each dependent", () => {
    const packages = join(folder, "linked");
    // By the paths of links, package 30 would be reached in more than a million ways.
    const count = 30;
    for (let i = 0; i <= count; i++) {
      const next = [i + 1, i + 2].filter((one) => one <= count);
      mkdirSync(join(packages, `${i}/node_modules/@remat`), { recursive: true });
      mkdirSync(join(packages, `${i}/dist`));
      const dependencies = Object.fromEntries(next.map((one) => [`@remat/p${one}`, "*"]));
      writeFileSync(join(packages, `${i}/package.json`), manifest(`@remat/p${i}`, "0.0.0", dependencies));
      writeFileSync(join(packages, `${i}/dist/index.js`), "code");
      for (const one of next)
        symlinkSync(join(packages, String(one)), join(packages, `${i}/node_modules/@remat/p${one}`));
    }
    const before = hashOf(join(packages, "0/dist/index.js"));
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    writeFileSync(join(packages, `${count}/dist/index.js`), "other code");
    expect(hashOf(join(packages, "0/dist/index.js"))).not.toBe(before);
  });

  it.each([
    ["dist/plan.js", "other code"],
    ["dist/more.js", ""],
    ["node_modules/@remat/planner/dist/search/search.js", "other code"],
    ["node_modules/highs/package.json", '{"name":"highs","version":"1.0.1"}'],
  ])("is another one if %s is, though the version is the same", (path, text) => {
    expect(install("changed", writing(path, text))).not.toBe(install("one"));
    rmSync(at("changed"), { recursive: true });
  });

  it("is part of what answers are kept by", () => {
    const files = fleetFilesOf(jobOf("model.json"));
    expect(contentKey(files)).toMatch(/^[0-9a-f]{64}$/);
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(contentKey(files)).not.toBe(contentKey(fleetFilesOf(jobOf("model.mjs"))));
    expect(buildHash()).not.toContain(version);
  });
});
