import { createHash } from "node:crypto";
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { nativeVersion, readSums, sumsFile } from "@remat/dispatch-hook/backends/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { allocatorEnvironment, type SetupNativeOptions, setupNative } from "../../src/native/index.js";
import { readPins } from "../../src/native/pins.js";
import { libraryFiles, type Machine, makeMachine } from "./fake-tools.js";

const system = { platform: "linux", arch: "x64", glibc: "2.36" };
let machine: Machine;
beforeEach(() => {
  machine = makeMachine();
});
afterEach(() => machine.remove());

const setup = (options: SetupNativeOptions = {}) =>
  setupNative({ env: machine.env, system, pins: machine.pins(), ...options });
const native = (...path: string[]) => join(machine.cache, "native", ...path);
/** Has a folder's files as they are count as what was built. */
function reseal(folder: string): void {
  const sums = [...(readSums(folder) ?? [])].map(([path]) => {
    const sum = createHash("sha256")
      .update(readFileSync(join(folder, path)))
      .digest("hex");
    return `${sum}  ${path}\n`;
  });
  writeFileSync(join(folder, sumsFile), sums.join(""));
}
/** The allocator that is in the cache. */
const allocator = () => readdirSync(native()).find((name) => name.startsWith("caching-allocator-")) ?? "none";
const packageOf = (app: string, name = "tfjs-node") => join(app, "node_modules/@tensorflow", name);

test("the pinned version is the one that selectBackend looks for", () => {
  expect(Object.values(readPins().packages).map(({ version }) => version)).toEqual([nativeVersion, nativeVersion]);
  for (const { sha256 } of Object.values(readPins().wheels)) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  for (const { integrity } of Object.values({ ...readPins().packages, ...readPins().dependencies }))
    expect(integrity).toMatch(/^sha512-/);
});

describe("setupNative", () => {
  test("builds against a given folder, where selectBackend looks for it, and proves it", async () => {
    const tensorflow = machine.files("site-packages/tensorflow", libraryFiles);
    const lines: string[] = [];
    const made = await setup({ tensorflow, report: (line) => lines.push(line) });
    const folder = native("tfjs-node-4.22.0");
    expect(made).toMatchObject({
      package: "tfjs-node",
      folder,
      built: true,
      library: { folder: tensorflow, origin: "given" },
      check: { tensorflow: "9.9.9", usesGpu: false },
    });
    expect(made.check.loss[1]).toBeLessThan(made.check.loss[0]);
    expect(lines).toEqual([
      "installing @tensorflow/tfjs-node",
      `compiling against ${tensorflow} (given)`,
      "training a small model",
      "compiling the caching allocator, and training with it",
    ]);
    expect(made.allocator).toBe(native(allocator(), "caching-allocator.so"));
    expect(readdirSync(native()).sort()).toEqual([allocator(), "tfjs-node-4.22.0"]);
    expect(readlinkSync(join(packageOf(folder), "deps/lib/libtensorflow_cc.so.2"))).toBe(
      join(tensorflow, "libtensorflow_cc.so.2"),
    );
    const compile = machine.log().find((line) => line.startsWith("g++ -O2"));
    expect(compile).toContain(`-I${join(tensorflow, "include")}`);
    expect(compile).toMatch(/-I\S*node-api-headers\/include/);
    expect(compile).toContain("-Wl,-rpath,$ORIGIN/../../deps/lib");
    expect(machine.log().find((line) => line.startsWith("npm ci"))).toContain("--ignore-scripts");
    expect(machine.log()).toContain(
      `npm verifies @tensorflow/tfjs-node@4.22.0 ${String(readPins().packages["tfjs-node"]["integrity"])}`,
    );
  });

  test("takes the libraries and headers out of a given wheel, and survives a move of the cache", async () => {
    const made = await setup({ tensorflow: machine.wheel() });
    const library = native("tensorflow_cpu-2.21.0-cp312-cp312-manylinux_2_27_x86_64");
    expect(made.library).toEqual({ folder: library, origin: "given" });
    expect(readdirSync(library, { recursive: true, encoding: "utf8" }).sort()).toEqual(
      [
        "SHA256SUMS",
        "include",
        "include/tensorflow",
        "include/tensorflow/c",
        "include/tensorflow/c/eager",
        ...Object.keys(libraryFiles),
      ].sort(),
    );
    renameSync(machine.cache, `${machine.cache}-moved`);
    const link = join(packageOf(`${machine.cache}-moved/native/tfjs-node-4.22.0`), "deps/lib/libtensorflow_cc.so.2");
    expect(readFileSync(link, "utf8")).toBe("the C++ library");
  });

  test("asks before it fetches a wheel, and fetches nothing after a no", async () => {
    const asked: unknown[] = [];
    const refused = setup({
      confirm: async (download) => {
        asked.push(download);
        return false;
      },
    });
    await expect(refused).rejects.toMatchObject({
      code: "NATIVE_DECLINED",
      message: expect.stringContaining("pip install"),
    });
    expect(asked).toEqual([
      {
        ...machine.pins().wheels.x64,
        project: "tensorflow-cpu",
        version: "2.21.0",
        fetchedBytes: 274e6,
        unpackedBytes: 860e6,
        folder: native("tensorflow-cpu-2.21.0"),
      },
    ]);
    expect(machine.log().filter((line) => line.includes("download") || line.includes("install "))).toEqual([]);
  });

  test("builds against what Python has, else what is in the cache, else fetches it by pip", async () => {
    const wheel = machine.wheel();
    const python = (installed: string) => `
      if (args[1] === "-c") console.log(${JSON.stringify(installed)});
      if (args.includes("download")) require("node:fs").copyFileSync(${JSON.stringify(wheel)}, args[args.indexOf("--dest") + 1] + "/tf.whl");`;
    machine.command("python3", python(""));
    expect((await setup()).library).toEqual({ folder: native("tensorflow-cpu-2.21.0"), origin: "fetched" });
    expect(machine.log().find((line) => line.includes("pip download"))).toMatch(
      /--only-binary=:all:.*manylinux_2_27_x86_64.* tensorflow-cpu==2\.21\.0$/,
    );
    expect(readdirSync(native()).sort()).toEqual([allocator(), "tensorflow-cpu-2.21.0", "tfjs-node-4.22.0"]);

    expect((await setup({ force: true })).library?.origin).toBe("cached");

    const installed = machine.files("lib/python3/site-packages/tensorflow", libraryFiles);
    machine.command("python3", python(installed));
    expect((await setup({ force: true })).library).toEqual({ folder: installed, origin: "installed" });
  });

  test.each([
    ["pip", { "x.whl": "not TensorFlow" }],
    ["the caller", undefined],
  ])("unpacks nothing of a wheel of the pinned name, from %s, with another hash", async (_from, fetched) => {
    const pins = machine.pins();
    const wheel = machine.wheel();
    expect(pins.wheels.x64.sha256).toBe("none");
    machine.command(
      "python3",
      `
      if (args.includes("download")) require("node:fs").copyFileSync(${JSON.stringify(wheel)}, args[args.indexOf("--dest") + 1] + "/tf.whl");`,
    );
    const failed = setup({ pins, ...(fetched === undefined && { tensorflow: wheel }) });
    await expect(failed).rejects.toMatchObject({
      code: "NATIVE_DOWNLOAD",
      message: expect.stringMatching(/has SHA-256 [0-9a-f]{64}, but .*\.whl has none/),
    });
    expect(readdirSync(native())).toEqual([]);
  });

  test("fetches TensorFlow anew where that in the cache is not as it was unpacked", async () => {
    const wheel = machine.wheel();
    machine.command(
      "python3",
      `
      if (args.includes("download")) require("node:fs").copyFileSync(${JSON.stringify(wheel)}, args[args.indexOf("--dest") + 1] + "/tf.whl");`,
    );
    const { library } = await setup();
    writeFileSync(native("tensorflow-cpu-2.21.0/libtensorflow_cc.so.2"), "planted");
    const lines: string[] = [];
    expect((await setup({ force: true, report: (line) => lines.push(line) })).library).toEqual(library);
    expect(lines[0]).toMatch(/^fetching TensorFlow again.*libtensorflow_cc\.so\.2 has SHA-256/);
    expect(readFileSync(native("tensorflow-cpu-2.21.0/libtensorflow_cc.so.2"), "utf8")).toBe("the C++ library");
  });

  test("for a GPU wants a TensorFlow that knows CUDA, and takes the wheel that does", async () => {
    const info = (cuda: string) => ({ ...libraryFiles, "python/platform/build_info.py": `is_cuda_build = ${cuda}` });
    const installed = machine.files("tf", info("False"));
    machine.command("python3", `if (args[1] === "-c") console.log(${JSON.stringify(installed)});`);
    await expect(setup({ gpu: true, confirm: async ({ project }) => project !== "tensorflow" })).rejects.toMatchObject({
      code: "NATIVE_DECLINED",
    });
    machine.files("tf", info("True"));
    const made = await setup({ gpu: true });
    expect(made).toMatchObject({
      package: "tfjs-node-gpu",
      folder: native("tfjs-node-gpu-4.22.0"),
      library: { origin: "installed" },
    });
    expect(existsSync(packageOf(made.folder, "tfjs-node-gpu"))).toBe(true);
  });

  test("leaves alone what works, and builds anew what does not", async () => {
    const tensorflow = machine.files("tf", libraryFiles);
    const first = await setup({ tensorflow });
    expect(await setup({ tensorflow })).toEqual({ ...first, built: false, library: undefined });
    writeFileSync(join(packageOf(first.folder), "lib/napi-v8/tfjs_binding.node"), "symbol");
    reseal(first.folder);
    const lines: string[] = [];
    expect((await setup({ tensorflow, report: (line) => lines.push(line) })).built).toBe(true);
    expect(lines[0]).toMatch(/^rebuilding: .*undefined symbol: TFE_NewOp/);
  });

  test("goes on without the caching allocator where that fails, and says so", async () => {
    const tensorflow = machine.files("tf", libraryFiles);
    machine.command(
      "g++",
      `if (args.some((arg) => arg.endsWith("caching-allocator.cc"))) { console.error("error: no <sys/mman.h>"); process.exit(1); }
       if (args[0] !== "--version") require("node:fs").writeFileSync(args[args.indexOf("-o") + 1], "addon");`,
    );
    const lines: string[] = [];
    expect((await setup({ tensorflow, report: (line) => lines.push(line) })).allocator).toBeUndefined();
    expect(lines.at(-1)).toMatch(/^without the caching allocator: .*no <sys\/mman\.h>/);
    expect(readdirSync(native())).toEqual(["tfjs-node-4.22.0"]);
    expect(allocatorEnvironment(machine.env)).toEqual({});
  });

  test("builds the caching allocator for what was built before, and tells how to use it", async () => {
    const tensorflow = machine.files("tf", libraryFiles);
    const { allocator: file = "" } = await setup({ tensorflow });
    rmSync(dirname(file), { recursive: true });
    machine.files("cache/native", { "caching-allocator-0123456789ab.so": "of an earlier source" });
    machine.files("cache/native/caching-allocator-0123456789ac", { "caching-allocator.so": "of another" });
    expect(await setup({ tensorflow })).toMatchObject({ built: false, allocator: file });
    expect(readdirSync(native()).sort()).toEqual([allocator(), "tfjs-node-4.22.0"]);
    const alone = { LD_PRELOAD: file, TF_ONEDNN_USE_SYSTEM_ALLOCATOR: "1" };
    expect(allocatorEnvironment(machine.env)).toEqual(alone);
    expect(allocatorEnvironment({ ...machine.env, LD_PRELOAD: "/lib/other.so" })).toEqual({
      ...alone,
      LD_PRELOAD: `${file}:/lib/other.so`,
    });
    expect(allocatorEnvironment({ ...machine.env, ...alone })).toEqual(alone);
  });

  test.each([
    [
      "compiling",
      "g++",
      'if (args[0] !== "--version") { console.error("x.cc:1: error: no such type"); process.exit(1); }',
      "NATIVE_COMPILE",
      /no such type.*--tensorflow/,
    ],
    [
      "the addon",
      "g++",
      'if (args[0] !== "--version") require("node:fs").writeFileSync(args[args.indexOf("-o") + 1], "symbol");',
      "NATIVE_VERIFY",
      /undefined symbol: TFE_NewOp.*2\.12/,
    ],
    [
      "the processor",
      "g++",
      'if (args[0] !== "--version") require("node:fs").writeFileSync(args[args.indexOf("-o") + 1], "crash");',
      "NATIVE_VERIFY",
      /SIGILL.*AVX/,
    ],
    [
      "npm",
      "npm",
      'if (args[0] === "ci") { console.error("npm error 404 Not Found"); process.exit(1); }',
      "NATIVE_NPM",
      /404 Not Found.*registry/,
    ],
    [
      "a tarball",
      "npm",
      'if (args[0] === "ci") { console.error("npm error code EINTEGRITY\\nnpm error wanted sha512-a but got sha512-b"); process.exit(1); }',
      "NATIVE_NPM",
      /wanted sha512-a but got sha512-b.*file differs from the pinned one/,
    ],
  ])("keeps what was there when %s fails", async (_what, command, source, code, message) => {
    const tensorflow = machine.files("tf", libraryFiles);
    const { folder } = await setup({ tensorflow });
    machine.command(command, source);
    await expect(setup({ tensorflow, force: true })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
    expect(readdirSync(native()).sort()).toEqual([allocator(), "tfjs-node-4.22.0"]);
    expect(readFileSync(join(packageOf(folder), "lib/napi-v8/tfjs_binding.node"), "utf8")).toBe("addon");
  });

  test("clears away what was left a day ago, and nothing that another process may be making", async () => {
    const tensorflow = machine.files("tf", libraryFiles);
    const left = machine.files("cache/native/.new-0f0f-tfjs-node-4.22.0", { file: "" });
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 3600;
    utimesSync(left, twoDaysAgo, twoDaysAgo);
    // Its process may run in another container, so it does not matter that no process here has its number.
    machine.files("cache/native/.new-999999999-tensorflow", { file: "" });
    machine.files("cache/native/.old-0f0f-tensorflow", { file: "" });
    await setup({ tensorflow });
    expect(readdirSync(native()).sort()).toEqual([
      ".new-999999999-tensorflow",
      ".old-0f0f-tensorflow",
      allocator(),
      "tfjs-node-4.22.0",
    ]);
  });

  test.each([
    [
      { platform: "darwin", arch: "arm64", glibc: undefined },
      "NATIVE_PLATFORM",
      /not supported on darwin.*npm install @tensorflow\/tfjs-node/,
    ],
    [{ platform: "linux", arch: "s390x", glibc: "2.36" }, "NATIVE_PLATFORM", /no wheels for s390x.*wasm/],
    [{ platform: "linux", arch: "x64", glibc: undefined }, "NATIVE_PLATFORM", /glibc.*Debian/],
  ])("refuses %o before anything is run", async (other, code, message) => {
    await expect(setup({ system: other })).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(machine.log()).toEqual([]);
  });

  test("says which tool is missing, and how to get it, before anything is fetched", async () => {
    await expect(setup({ env: { ...machine.env, CXX: "clang++" } })).rejects.toMatchObject({
      code: "NATIVE_COMPILER",
      message: expect.stringMatching(/"clang\+\+" does not run.*apt-get install g\+\+/),
    });
    const { PATH: _, ...env } = machine.env;
    await expect(setup({ env: { ...env, PATH: "/nowhere" } })).rejects.toMatchObject({ code: "NATIVE_COMPILER" });
    expect(existsSync(machine.cache)).toBe(false);
  });

  test.each([
    ["no-such-folder", /no-such-folder: no such file or folder.*expects TensorFlow's folder or a wheel/],
    ["empty", /has no libtensorflow_cc\.so\.2.*site-packages/],
    ["text.whl", /text\.whl cannot be unpacked.*Download the TensorFlow wheel/],
    ["small.whl", /small\.whl has no include\/tensorflow\/c\/eager\/c_api\.h/],
  ])("refuses %s to build against", async (name, message) => {
    machine.files("empty", { file: "" });
    machine.files("", { "text.whl": "no zip file" });
    const { "include/tensorflow/c/eager/c_api.h": _, ...files } = libraryFiles;
    machine.wheel("small.whl", files);
    await expect(setup({ tensorflow: join(machine.folder, name) })).rejects.toMatchObject({
      message: expect.stringMatching(message),
    });
    expect(existsSync(native()) ? readdirSync(native()) : []).toEqual([]);
  });

  test("does not follow a wheel out of its folder", async () => {
    const wheel = machine.wheel("evil.whl", { ...libraryFiles, "include/tensorflow/c/../../../../../../evil": "x" });
    await expect(setup({ tensorflow: wheel })).rejects.toMatchObject({ code: "NATIVE_WHEEL" });
    expect(existsSync(join(machine.folder, "evil"))).toBe(false);
  });
});
