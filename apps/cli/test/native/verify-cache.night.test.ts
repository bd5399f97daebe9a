import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { allocatorEnvironment, setupNative, verifyCache, verifyNative } from "../../src/native/index.js";
import { type Machine, makeMachine } from "./fake-tools.js";

const system = { platform: "linux", arch: "x64", glibc: "2.36" };
let machine: Machine;
beforeEach(() => {
  machine = makeMachine();
});
afterEach(() => machine.remove());

const setup = (more: { force?: boolean; report?: (line: string) => void } = {}) =>
  setupNative({ tensorflow: machine.wheel(), env: machine.env, system, pins: machine.pins(), ...more });
const native = (...path: string[]) => join(machine.cache, "native", ...path);
const addon = (app: string) => join(app, "node_modules/@tensorflow/tfjs-node/lib/napi-v8/tfjs_binding.node");
const problems = async () =>
  (await verifyCache(machine.env)).flatMap((item) =>
    item.problems.map(({ path, what }) => `${path.slice(machine.cache.length + 8)} ${what}`),
  );

describe("verifyCache", () => {
  test("hashes all that would be loaded, the libraries behind links too, as sha256sum -c does", async () => {
    expect(await verifyCache(machine.env)).toEqual([]);
    const { folder, allocator = "" } = await setup();
    const items = await verifyCache(machine.env);
    expect(items.map((item) => item.problems)).toEqual([[], [], []]);
    expect(items.map((item) => item.folder)).toEqual([
      join(allocator, ".."),
      native("tensorflow_cpu-2.21.0-cp312-cp312-manylinux_2_27_x86_64"),
      folder,
    ]);
    for (const item of items) {
      const lines = execFileSync("sha256sum", ["-c", "SHA256SUMS"], { cwd: item.folder, encoding: "utf8" });
      expect(lines.trim().split("\n")).toHaveLength(item.files);
      expect(lines).not.toContain("FAILED");
    }
    appendFileSync(native("tensorflow_cpu-2.21.0-cp312-cp312-manylinux_2_27_x86_64/libtensorflow_cc.so.2"), "!");
    const found = await problems();
    expect(found).toHaveLength(2);
    expect(found[0]).toMatch(/^tensorflow_cpu\S+\/libtensorflow_cc.so.2 has SHA-256 [0-9a-f]{64}, expected /);
    expect(found[1]).toMatch(/^tfjs-node-4.22.0\/node_modules\/@tensorflow\/tfjs-node\/deps\/lib\/libtensorflow_cc/);
  });

  test("tells of what was changed, added, taken away, and of what others can write to", async () => {
    const { folder } = await setup();
    const inPackage = (file: string) => join(folder, "node_modules/@tensorflow/tfjs-node", file);
    writeFileSync(inPackage("index.js"), "planted");
    mkdirSync(join(folder, "node_modules/planted"));
    writeFileSync(join(folder, "node_modules/planted/index.js"), "");
    rmSync(inPackage("binding/tfjs_binding.cc"));
    chmodSync(inPackage("package.json"), 0o666);
    expect((await problems()).map((line) => line.replace(/[0-9a-f]{64}/g, "…"))).toEqual([
      "tfjs-node-4.22.0/node_modules/@tensorflow/tfjs-node/package.json is writable by other users (mode 666)",
      "tfjs-node-4.22.0/node_modules/@tensorflow/tfjs-node/index.js has SHA-256 …, expected …",
      "tfjs-node-4.22.0/node_modules/planted/index.js was added after the build",
      "tfjs-node-4.22.0/node_modules/@tensorflow/tfjs-node/binding/tfjs_binding.cc is missing",
    ]);
  });

  test("tells of what an earlier remat made", async () => {
    mkdirSync(native("tfjs-node-4.22.0"), { recursive: true });
    expect(await problems()).toEqual(["tfjs-node-4.22.0 has no SHA256SUMS: an earlier version of remat built it"]);
  });
});

describe("nothing is loaded or preloaded", () => {
  /** Leaves a mark where it runs. */
  const plant = () => `require("node:fs").writeFileSync(${JSON.stringify(join(machine.folder, "ran"))}, "");`;

  test("that is not as it was built", async () => {
    const { folder } = await setup();
    writeFileSync(join(folder, "node_modules/@tensorflow/tfjs-node/index.js"), plant());
    await expect(verifyNative(folder, "tfjs-node", machine.env)).rejects.toMatchObject({
      code: "NATIVE_UNTRUSTED",
      message: expect.stringMatching(/index\.js was changed after the build: its SHA-256 is .* setup native --force/),
    });
    expect(existsSync(join(machine.folder, "ran"))).toBe(false);
    const lines: string[] = [];
    expect(await setup({ report: (line) => lines.push(line) })).toMatchObject({ built: true });
    expect(lines[0]).toMatch(/^rebuilding: .*was changed after the build/);
    expect(existsSync(join(machine.folder, "ran"))).toBe(false);
    expect(await problems()).toEqual([]);
  });

  test("whose addon was swapped", async () => {
    const { folder } = await setup();
    writeFileSync(addon(folder), "another addon");
    await expect(verifyNative(folder, "tfjs-node", machine.env)).rejects.toThrow(
      /tfjs_binding\.node was changed after the build/,
    );
  });

  test.each([
    ["the cache", ""],
    ["a folder on the way", "native/tfjs-node-4.22.0/node_modules/@tensorflow"],
    ["the addon", "native/tfjs-node-4.22.0/node_modules/@tensorflow/tfjs-node/lib/napi-v8/tfjs_binding.node"],
    ["TensorFlow", "native/tensorflow_cpu-2.21.0-cp312-cp312-manylinux_2_27_x86_64/libtensorflow_cc.so.2"],
  ])("where others can write to %s", async (_what, path) => {
    const { folder } = await setup();
    chmodSync(join(machine.cache, path), 0o777);
    await expect(verifyNative(folder, "tfjs-node", machine.env)).rejects.toMatchObject({
      code: "NATIVE_UNTRUSTED",
      message: expect.stringMatching(/is writable by other users \(mode 777\).*chmod go-w/),
    });
  });

  test("from an allocator that was replaced, or that others can write to; setup builds it again", async () => {
    const { allocator = "" } = await setup();
    expect(allocatorEnvironment(machine.env)["LD_PRELOAD"]).toBe(allocator);
    writeFileSync(allocator, "planted");
    expect(allocatorEnvironment(machine.env)).toEqual({});
    expect(await setup()).toMatchObject({ built: false, allocator });
    expect(readFileSync(allocator, "utf8")).toBe("addon");
    chmodSync(join(allocator, ".."), 0o775);
    expect(allocatorEnvironment(machine.env)).toEqual({});
  });
});

test("files that a build with a lax umask creates are writable by their owner only", async () => {
  const before = process.umask(0);
  try {
    await setup();
  } finally {
    process.umask(before);
  }
  expect(await problems()).toEqual([]);
});

test("two that set up at once build once", async () => {
  const lines: string[] = [];
  const made = await Promise.all([
    setup({ report: (line) => lines.push(line) }),
    setup({ report: (line) => lines.push(line) }),
  ]);
  expect(made.filter(({ built }) => built)).toHaveLength(1);
  expect(machine.log().filter((line) => line.startsWith("npm ci"))).toHaveLength(1);
  expect(lines.filter((line) => line.startsWith("waiting"))).toEqual([
    expect.stringMatching(new RegExp(`^waiting for another build: .*process ${process.pid}$`)),
  ]);
});
