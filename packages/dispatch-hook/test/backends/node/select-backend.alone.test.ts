import { createHash } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  cacheFolder,
  distrustOf,
  formatSums,
  type NativePackage,
  nativeAppFolder,
  selectBackend,
  sumsFile,
} from "../../../src/backends/node/index.js";

/** A project with packages that fail, or work, as we say, and a cache of its own. */
let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "remat-backend-"));
  vi.stubEnv("REMAT_CACHE_DIR", join(project, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(project, { recursive: true });
});

function install(packageName: string, source: string, app = project): void {
  const folder = join(app, "node_modules", packageName);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: packageName, version: "4.22.0", main: "index.js" }),
  );
  writeFileSync(join(folder, "index.js"), source);
}

/** Installs into the cache as `remat setup native` does. */
function installCached(name: NativePackage, source: string): void {
  const app = nativeAppFolder(name);
  install(`@tensorflow/${name}`, source, app);
  const file = `node_modules/@tensorflow/${name}/index.js`;
  const sum = createHash("sha256")
    .update(readFileSync(join(app, file)))
    .digest("hex");
  writeFileSync(join(app, sumsFile), formatSums(new Map([[file, sum]])));
}

/** A package that brings the backend `tensorflow`, as tfjs-node does. */
const native = (usesGpu: boolean) => `
  const engine = globalThis._tfengine;
  engine.registerBackend("tensorflow", () => ({ isUsingGpuDevice: ${usesGpu}, dispose() {} }), 3);`;

/** A module that leaves a mark where it runs. */
const planted = () => `require("node:fs").writeFileSync(${JSON.stringify(join(project, "ran"))}, "");`;

describe("modules that may be loaded", () => {
  test("belongs to the user or to root", () => {
    const file = join(project, "file");
    writeFileSync(file, "");
    const root = process.getuid?.() === 0;
    expect(distrustOf(file)).toBeUndefined();
    // As another user sees it, or root what belongs to another.
    if (root) chownSync(file, 4711, 4711);
    expect(distrustOf(file, root ? 0 : 4711)).toBe(
      `${file} belongs to user ${root ? 4711 : process.getuid?.()}, not to you (${root ? 0 : 4711}) or root`,
    );
    expect(distrustOf("/", 4711)).toBeUndefined();
  });
});

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

  test("gives wasm the kernels of gradients that it lacks, where it is for training", async () => {
    const kernels = ["Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter", "UnsortedSegmentSum"];
    const isThere = () => kernels.map((kernel) => tf.getKernel(kernel, "wasm") !== undefined);
    await selectBackend({ from: project, backend: "wasm" });
    expect(isThere()).toEqual([false, false, false]);
    const { attempts } = await selectBackend({ from: project, for: "training" });
    expect(attempts.at(-1)).toMatchObject({ backend: "wasm", selected: true, missing: undefined, reason: "" });
    expect(isThere()).toEqual([true, true, true]);
    const sums = tf.unsortedSegmentSum(tf.tensor1d([1, 2, 3]), tf.tensor1d([1, 0, 1], "int32"), 2);
    expect([...sums.dataSync()]).toEqual([2, 4]);
  });

  test("takes for training none that lacks kernels of gradients, and says which", async () => {
    install("@tensorflow/tfjs-node", native(false));
    expect(await selectBackend({ from: project })).toMatchObject({ backend: "tensorflow" });
    const { attempts, backend } = await selectBackend({ from: project, for: "training" });
    expect(backend).toBe("wasm");
    expect(attempts[1]).toMatchObject({ package: "@tensorflow/tfjs-node", selected: false, missing: "kernels" });
    expect(attempts[1].reason).toMatch(
      /^it cannot train every model, because kernels are missing: .*Conv2DBackpropFilter/,
    );
    expect(tf.getBackend()).toBe(backend);
    const train = () => selectBackend({ from: project, for: "training", backend: "tensorflow" });
    await expect(train()).rejects.toThrow(/no backend works on this machine.*tfjs-node: it cannot train every model/);
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
    expect(selected.attempts).toEqual([
      {
        package: "@tensorflow/tfjs-node-gpu",
        backend: "tensorflow",
        selected: true,
        missing: usesGpu ? undefined : "device",
        reason: usesGpu ? "" : "TensorFlow found no CUDA device, so it runs on the CPU",
      },
    ]);
  });

  test.each([undefined, "throw new Error('Could not find tfjs_binding.node');"])(
    "takes from the cache what the user has not, or not working: %s",
    async (own) => {
      if (own !== undefined) install("@tensorflow/tfjs-node", own);
      installCached("tfjs-node", native(false));
      expect(await selectBackend({ from: project })).toMatchObject({
        package: "@tensorflow/tfjs-node",
        path: join(nativeAppFolder("tfjs-node"), "node_modules/@tensorflow/tfjs-node/index.js"),
        attempts: [{ missing: "module" }, { selected: true, missing: undefined, reason: "" }],
      });
    },
  );

  test.each([
    ["that an earlier remat made", (app: string) => rmSync(join(app, sumsFile)), /has no SHA256SUMS.*setup native/],
    [
      "that was changed",
      (app: string) => writeFileSync(join(app, "node_modules/@tensorflow/tfjs-node/index.js"), `${planted()} // more`),
      /index\.js was changed after the build: its SHA-256 is/,
    ],
    ["that others can write to", (app: string) => chmodSync(app, 0o775), /is writable by other users \(mode 775\)/],
    [
      "in a cache that others can write to",
      () => chmodSync(cacheFolder(), 0o757),
      /is writable by other users \(mode 757\).*REMAT_CACHE_DIR/,
    ],
    [
      "in a folder where everybody can replace the cache",
      () => chmodSync(project, 0o777),
      /is writable by all users \(mode 777\)/,
    ],
  ])("loads nothing from the cache %s, and says why", async (_what, spoil, reason) => {
    installCached("tfjs-node", planted());
    spoil(nativeAppFolder("tfjs-node"));
    const { attempts, backend } = await selectBackend({ from: project });
    expect(backend).toBe("wasm");
    expect(attempts[1]).toMatchObject({ missing: "trust", reason: expect.stringMatching(reason) });
    expect(existsSync(join(project, "ran"))).toBe(false);
  });

  test("takes the user's own before the cache's", async () => {
    install("@tensorflow/tfjs-node", native(false));
    installCached("tfjs-node", "throw new Error('cached');");
    const { path } = await selectBackend({ from: project });
    expect(path).toBe(join(project, "node_modules/@tensorflow/tfjs-node/index.js"));
  });

  test("tells of the user's own when the cache's does not work either", async () => {
    install("@tensorflow/tfjs-node-gpu", "throw new Error('my own');");
    installCached("tfjs-node-gpu", "throw new Error('cached');");
    const { attempts } = await selectBackend({ from: project });
    expect(attempts[0]).toMatchObject({ missing: "start", reason: "my own" });
  });

  test("takes the package that it is told", async () => {
    install("@tensorflow/tfjs-node-gpu", native(false));
    install("@tensorflow/tfjs-node", native(false));
    const selected = await selectBackend({ from: project, package: "@tensorflow/tfjs-node" });
    expect(selected.attempts.map(({ package: name }) => name)).toEqual(["@tensorflow/tfjs-node"]);
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
      /no backend works on this machine.*tfjs-node-gpu: broken.*tfjs-node' is not installed in .*Install one of .*remat setup native/,
    );
  });
});

describe("the cache", () => {
  test.each([
    [{ REMAT_CACHE_DIR: "/own", XDG_CACHE_HOME: "/xdg" }, "/own"],
    [{ REMAT_CACHE_DIR: "", XDG_CACHE_HOME: "/xdg" }, "/xdg/remat"],
    [{}, join(homedir(), process.platform === "darwin" ? "Library/Caches/remat" : ".cache/remat")],
  ])("is where the environment says: %o", (env, folder) => {
    expect(cacheFolder(env)).toBe(folder);
    expect(nativeAppFolder("tfjs-node-gpu", env)).toBe(`${folder}/native/tfjs-node-gpu-4.22.0`);
  });
});

test("a backend that no package on disk brings is refused, with those that there are", async () => {
  await expect(selectBackend({ backend: "webgl" })).rejects.toMatchObject({
    code: "NO_BACKEND",
    message: expect.stringMatching(
      /^webgl is not a backend package .* Choose one of @tensorflow\/tfjs-node-gpu for tensorflow, /,
    ),
  });
});
