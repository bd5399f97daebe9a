import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RematError } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WeightFiles } from "../../src/importers/weight-files.js";
import { remat } from "../run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-weights-"));
const modelPath = join(folder, "model/model.json");
const inFolder = (name: string): string => join(folder, name);

beforeAll(() => {
  mkdirSync(inFolder("model/inner"), { recursive: true });
  mkdirSync(inFolder("model-other"));
  mkdirSync(inFolder("snapshot"));
  for (const name of ["model/model.json", "outside", "model-other/w.bin"]) writeFileSync(inFolder(name), "{}");
  writeFileSync(inFolder("model/w.bin"), "12345678");
  writeFileSync(inFolder("model/inner/w.bin"), "1234");
  writeFileSync(inFolder("model/%2e%2e"), "1234");
  symlinkSync("../outside", inFolder("model/link-out"));
  symlinkSync("/etc", inFolder("model/etc"));
  symlinkSync("../model-other", inFolder("model/other"));
  symlinkSync("/dev/zero", inFolder("model/zero"));
  symlinkSync("w.bin", inFolder("model/link-in"));
  execFileSync("mkfifo", [inFolder("model/pipe")]);
  // As the cache of Hugging Face has files: all are links into one folder.
  symlinkSync("../model/model.json", inFolder("snapshot/model.json"));
  symlinkSync("../model/w.bin", inFolder("snapshot/w.bin"));
  symlinkSync("../outside", inFolder("snapshot/link-out"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const refuse = (what: string): RematError => new RematError("KERAS_WEIGHTS_FILE", `${what}.`);
const filesOf = (paths: readonly unknown[], bytes?: number, path = modelPath): WeightFiles =>
  new WeightFiles(path, [{ paths, bytes }], refuse);

const outside: readonly (readonly [name: unknown, why: string])[] = [
  ["/etc/passwd", "an absolute path"],
  ["//etc/passwd", "an absolute path"],
  ["../outside", "outside the folder"],
  ["../../etc/passwd", "outside the folder"],
  ["inner/../../outside", "outside the folder"],
  ["inner/../w.bin", "outside the folder"],
  ["..", "outside the folder"],
  ["..\\outside", "a Windows path"],
  ["\\\\server\\share", "a Windows path"],
  ["C:w.bin", "a URL or a Windows path"],
  ["C:/w.bin", "a URL or a Windows path"],
  ["file:///etc/passwd", "a URL or a Windows path"],
  ["https://example.org/w.bin", "a URL or a Windows path"],
  ["data:,1234", "a URL or a Windows path"],
  ["w.bin\0.png", "a NUL"],
  ["", "empty"],
  ["w".repeat(5000), "too long"],
  [3, "not a text"],
  [null, "not a text"],
  [["w.bin"], "not a text"],
  ["link-out", "outside the model's folder"],
  ["etc/hostname", "outside the model's folder"],
  ["other/w.bin", "outside the model's folder"],
  ["zero", "outside the model's folder"],
];

describe("a weight file that a manifest names", () => {
  it.each(outside)("%j is refused: %s", (name, why) => {
    let message = "";
    try {
      filesOf(["w.bin", name]);
    } catch (error) {
      expect(error).toBeInstanceOf(RematError);
      ({ message } = error as RematError);
    }
    expect(message).toContain(why);
    expect(message.length).toBeLessThan(400);
  });

  it.each(["w.bin", "./w.bin", "inner/w.bin", "link-in", "%2e%2e"])("%j is read", (name) => {
    const files = filesOf([name]);
    expect(files.missing).toEqual([]);
    expect(files.read(name).length).toBeGreaterThan(3);
  });

  it("is read beside the file to which model.json is a link, and not elsewhere", () => {
    const path = inFolder("snapshot/model.json");
    expect(filesOf(["w.bin"], 8, path).read("w.bin")).toHaveLength(8);
    expect(() => filesOf(["link-out"], 8, path)).toThrow(/outside the model's folder/);
  });

  it("is not waited for if it is a pipe", () => {
    expect(() => filesOf(["pipe"]).read("pipe")).toThrow(/it is a named pipe.*Name a regular file/);
  });
});

it("files are sized before any is read", () => {
  filesOf(["w.bin", "inner/w.bin"], 12).checkSizes();
  filesOf(["w.bin"]).checkSizes();
  expect(() => filesOf(["w.bin", "inner/w.bin"], 8).checkSizes()).toThrow(
    /w\.bin, inner\/w\.bin: 12 bytes, expected 8 from/,
  );
  writeFileSync(inFolder("model/sparse"), "");
  truncateSync(inFolder("model/sparse"), 2 ** 40);
  expect(() => filesOf(["sparse"], 4).checkSizes()).toThrow(/sparse: 1099511627776 bytes, expected 4/);
  expect(() => filesOf(["sparse"], 2 ** 40).checkSizes()).toThrow(/the limit is 4294967296/);
});

const layers = [
  { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 1] } },
  { class_name: "Dense", config: { name: "d", units: 1 } },
];
const modelTopology = { class_name: "Sequential", config: { name: "m", layers } };
const weights = ["d/kernel", "d/bias"].map((name, i) => ({ name, shape: i === 0 ? [1, 1] : [1], dtype: "float32" }));
const graph = { node: [{ name: "c", op: "Const" }] };

it.each([
  ["a Keras model", "run", { modelTopology }],
  ["a graph model", "estimate", { format: "graph-model", modelTopology: graph }],
] as const)("%s is not read with weights from elsewhere", async (_what, command, json) => {
  for (const [path, message] of [
    ["../../../../../../etc/passwd", /outside the folder/],
    ["zero", /outside the model's folder/],
    ["pipe", /0 bytes, expected 8/],
  ] as const) {
    writeFileSync(modelPath, JSON.stringify({ ...json, weightsManifest: [{ paths: [path], weights }] }));
    const { code, stderr } = await remat(command, modelPath, ...(command === "run" ? ["--steps", "1"] : ["--predict"]));
    expect(stderr).toMatch(message);
    expect(stderr).toContain("model.json: ");
    expect(code).toBe(1);
  }
});

it.each([
  [{ paths: ["w.bin"], weights: [{ name: "w", shape: [2 ** 40, 2 ** 40], dtype: "float32" }] }, /has the shape/],
  [{ paths: ["w.bin"], weights: [{ name: "w", shape: [-1, 2], dtype: "float32" }] }, /has the shape \[-1,2\]/],
  [{ paths: ["w.bin"], weights: [{ name: "w", shape: [1e300], dtype: "float32" }] }, /has the shape/],
  [{ paths: ["w.bin"], weights: [{ name: "w", shape: "22", dtype: "float32" }] }, /has the shape "22"/],
  [{ paths: ["w.bin"], weights: [{ name: "w", shape: [2], dtype: "__proto__" }] }, /has dtype __proto__/],
  [{ paths: ["w.bin"], weights: [{ name: "w", shape: [2], dtype: "constructor" }] }, /has dtype constructor/],
  [{ paths: ["w.bin"], weights: [null] }, /weight 0 of the manifest has no name/],
  [{ paths: ["w.bin"], weights: [{ shape: [2], dtype: "float32" }] }, /weight 0 of the manifest has no name/],
  [
    { paths: ["w.bin"], weights: [{ name: "w", shape: [2], dtype: "float32", quantization: 3 }] },
    /has the quantization 3/,
  ],
])("a manifest of %j is refused by what is wrong with it", async (group, message) => {
  writeFileSync(modelPath, JSON.stringify({ modelTopology, weightsManifest: [group] }));
  const { code, stderr } = await remat("run", modelPath, "--steps", "1");
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(code).toBe(1);
});
