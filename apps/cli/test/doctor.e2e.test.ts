import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BackendName, type BroughtBackend, backendPackages } from "@remat/dispatch-hook/backends/node";
import { writeDocument } from "@remat/reporting/formats";
import { withFacts } from "@remat/reporting/verdict";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readOptions } from "../src/command.js";
import { doctor, doctorOptions } from "../src/commands/doctor.js";
import { backendFix } from "../src/doctor/backend-fix.js";
import { examinationDocument } from "../src/doctor/examination-document.js";
import { examinationFacts } from "../src/doctor/examination-facts.js";
import type { Examination } from "../src/doctor/examine.js";
import { type BackendProbe, probeBackend } from "../src/doctor/probe-backend.js";
import { remat } from "./run.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-doctor-"));
  vi.stubEnv("REMAT_CACHE_DIR", join(folder, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function install(name: string, source: string): void {
  const path = join(folder, "node_modules", name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "package.json"), JSON.stringify({ name, version: "4.22.0" }));
  writeFileSync(join(path, "index.js"), source);
}

const missing: BackendProbe = {
  package: "@tensorflow/tfjs-node-gpu",
  backend: "tensorflow",
  works: false,
  missing: "module",
  reason: "not installed",
  version: undefined,
  path: undefined,
  tensorflow: undefined,
  usesGpu: false,
  gflops: undefined,
};

/** Tries a package as `remat doctor` does. */
const probe = (name: string): Promise<BackendProbe> =>
  probeBackend(backendPackages().find((each) => each.package.name === name)!, folder);

describe("trying a backend in a process of its own", () => {
  test("tells version and speed of one that works", async () => {
    const wasm = await probe("@tensorflow/tfjs-backend-wasm");
    expect(wasm).toMatchObject({
      works: true,
      missing: undefined,
      reason: undefined,
      version: "4.22.0",
      tensorflow: undefined,
    });
    expect(wasm.gflops).toBeGreaterThan(0);
  });

  test("tells which part of one is missing", async () => {
    const name = "@tensorflow/tfjs-node";
    expect(await probe(name)).toEqual({ ...missing, package: name });
    install(name, "throw new Error('libtensorflow_cc.so.2: cannot open shared object file\\nRequire stack: …');");
    expect(await probe(name)).toMatchObject({
      works: false,
      missing: "library",
      reason: "libtensorflow_cc.so.2: cannot open shared object file",
      path: join(folder, "node_modules", name, "index.js"),
    });
  });

  test("is not content with one that computes and cannot train", async () => {
    install(
      "@tensorflow/tfjs-node",
      `globalThis._tfengine.registerBackend("tensorflow", () => ({ isUsingGpuDevice: false, dispose() {} }), 3);`,
    );
    expect(await probe("@tensorflow/tfjs-node")).toMatchObject({
      works: false,
      missing: "kernels",
      reason: expect.stringMatching(
        /^it cannot train every model, because kernels are missing: .*Conv2DBackpropFilter/,
      ),
    });
  });

  test("survives one that takes its process down", async () => {
    install("@tensorflow/tfjs-node", "process.kill(process.pid, 'SIGILL');");
    expect(await probe("@tensorflow/tfjs-node")).toMatchObject({
      missing: "start",
      reason: "the process ended by SIGILL: TensorFlow needs a processor with AVX",
    });
  });
});

describe("suggested fixes", () => {
  const fix = (more: Partial<BackendProbe>, gpu = false) => backendFix({ ...missing, ...more }, gpu);

  test("depends on what is missing, and of which package", () => {
    expect(fix({})).toBe("remat setup native --gpu");
    expect(fix({ missing: "addon", package: "@tensorflow/tfjs-node" })).toBe("remat setup native");
    expect(fix({ missing: "library" })).toMatch(/LD_LIBRARY_PATH, or: remat setup native --gpu --force/);
    expect(fix({ missing: "start" })).toBe("remat setup native --gpu --force");
    expect(fix({ backend: "wasm", package: "@tensorflow/tfjs-backend-wasm" })).toBe(
      "npm install @tensorflow/tfjs-backend-wasm",
    );
    expect(fix({ works: true, missing: undefined })).toBeUndefined();
  });

  test("about a missing CUDA device depends on whether there is a GPU", () => {
    expect(fix({ works: true, missing: "device" })).toMatch(/nothing/);
    expect(fix({ works: true, missing: "device" }, true)).toMatch(/pip install "tensorflow\[and-cuda\]"/);
  });
});

const shown = (found: Examination): string => writeDocument(examinationDocument(found), "table");

const gpuWithoutDevice: BackendProbe = {
  ...missing,
  works: true,
  missing: "device",
  reason: "no CUDA device was found, so it runs on the CPU",
  version: "4.22.0",
  path: "/cache/tfjs-node-gpu/index.js",
  tensorflow: "2.21.0",
  gflops: 112.4,
};
const cpu: BackendProbe = {
  ...gpuWithoutDevice,
  package: "@tensorflow/tfjs-backend-cpu",
  backend: "cpu",
  missing: undefined,
  reason: undefined,
  tensorflow: undefined,
  gflops: 1.04,
};
const machine: Examination = {
  remat: "1.2.3",
  node: "v20.20.2",
  platform: "linux x64",
  processor: "A Processor",
  cores: 2,
  memoryBytes: 8 * 2 ** 30,
  gpus: [],
  versions: { "@remat/trace": "1.2.3", "@tensorflow/tfjs-core": "4.22.0" },
  cache: { folder: "/cache", native: ["tfjs-node-gpu-4.22.0"] },
  allocator: { LD_PRELOAD: "/cache/native/caching-allocator.so", TF_ONEDNN_USE_SYSTEM_ALLOCATOR: "1" },
  backends: [
    gpuWithoutDevice,
    { ...missing, package: "@tensorflow/tfjs-node", missing: "addon", reason: "no tfjs_binding.node" },
    cpu,
  ],
};

test("the table says all of it", () => {
  expect(shown(machine)).toMatchSnapshot();
});

describe.each([60, 80, 120])("%i columns", (width) => {
  test("of remat doctor", () => {
    const text = writeDocument(withFacts(examinationDocument(machine), examinationFacts(machine)), "table", { width });
    // Text to be copied is on one line.
    for (const line of text.split("\n"))
      if (!line.includes("LD_PRELOAD")) expect(line.length).toBeLessThanOrEqual(width);
    expect(text).toMatchSnapshot();
  });
});

describe("the facts", () => {
  const lacking = (name: string): BackendProbe => ({ ...missing, package: name });
  const facts = (backends: readonly BackendProbe[], gpus: Examination["gpus"] = []) =>
    examinationFacts({ ...machine, backends, gpus }).facts;

  test("are on what can be trained here, and what to type next", () => {
    expect(facts([gpuWithoutDevice])).toEqual([
      "@tensorflow/tfjs-node-gpu trains here at 112 GFLOP/s.",
      "This machine has 8 GiB of memory.",
      "Next:",
      "remat record -- node train.js",
    ]);
    expect(facts([{ ...gpuWithoutDevice, usesGpu: true, gflops: undefined }])[0]).toBe(
      "@tensorflow/tfjs-node-gpu trains here on the GPU.",
    );
  });

  test("name what builds a faster backend than the one that works, if this machine can have it", () => {
    expect(facts([lacking("@tensorflow/tfjs-node"), cpu])).toEqual([
      "@tensorflow/tfjs-backend-cpu trains here at 1.0 GFLOP/s.",
      "This machine has 8 GiB of memory.",
      "A faster backend can be built:",
      "remat setup native",
    ]);
    // Without a GPU that of GPUs is none to be had.
    expect(facts([lacking("@tensorflow/tfjs-node-gpu"), cpu]).at(-1)).toBe("remat record -- node train.js");
    const gpu = { name: "A GPU", memoryBytes: 2 ** 34 };
    expect(facts([lacking("@tensorflow/tfjs-node-gpu"), cpu], [gpu as never]).at(-1)).toBe("remat setup native --gpu");
  });

  test("say that nothing can be trained, and what to do about it", () => {
    const wasm: BackendProbe = { ...missing, backend: "wasm", package: "@tensorflow/tfjs-backend-wasm" };
    expect(facts([wasm])).toEqual([
      "No backend works here, so remat can only estimate.",
      "This machine has 8 GiB of memory.",
      "Next:",
      "npm install @tensorflow/tfjs-backend-wasm",
    ]);
  });
});

test("a native backend without the caching allocator is told what to do", () => {
  const works = { ...missing, works: true, missing: undefined, reason: undefined };
  const found = { ...machine, versions: {}, cache: { folder: "/cache", native: [] }, allocator: {}, backends: [works] };
  expect(shown(found)).toMatch(/caching allocator is not built.*remat setup native/);
  const withoutNative = [{ ...works, package: "@tensorflow/tfjs-backend-wasm", backend: "wasm" as const }];
  expect(shown({ ...found, backends: withoutNative })).not.toContain("caching allocator");
});

describe("remat doctor --verify", () => {
  const native = () => join(folder, "cache/native");
  const build = () => {
    const app = join(native(), "tfjs-node-4.22.0");
    mkdirSync(app, { recursive: true });
    writeFileSync(join(app, "package.json"), "{}");
    const sum = createHash("sha256").update("{}").digest("hex");
    writeFileSync(join(app, "SHA256SUMS"), `${sum}  package.json\n`);
    return app;
  };

  test("says that all is as it was built, a line each", async () => {
    const app = build();
    expect(await remat("doctor", "--verify")).toEqual({
      code: 0,
      stderr: "",
      stdout: `${join(folder, "cache")} is exactly as remat built it (1 file), and no other user can write to it.\n\nok      ${app} (1 file)\n`,
    });
  });

  test("names what is not, without what a file's name would do to the terminal, and fails", async () => {
    const app = build();
    writeFileSync(join(app, "package.json"), "{ }");
    writeFileSync(join(app, "\u001b[2Jplanted.js"), "");
    const { code, stdout, stderr } = await remat("doctor", "--verify");
    expect(code).toBe(1);
    expect(stderr).toMatch(/the native cache differs from what remat built/);
    const lines = stdout.replace(/[0-9a-f]{64}/g, "…").split("\n");
    expect(lines[0]).toBe(
      `2 differences from the build in ${join(folder, "cache")}. Build it again with remat setup native --force.`,
    );
    expect(lines.slice(2)).toEqual([
      `not ok  ${app} (1 file)`,
      expect.stringMatching(/^ {10}\S+planted.js was added after the build$/),
      "          package.json has SHA-256 …, expected …",
      "",
    ]);
    expect(stdout).not.toContain("\u001b");
    const json = JSON.parse((await remat("doctor", "--verify", "--format", "json")).stdout);
    expect(json.items[0].problems).toHaveLength(2);
  });

  test("says so where nothing is built", async () => {
    const { code, stdout } = await remat("doctor", "--verify");
    expect([code, stdout]).toEqual([
      0,
      `Nothing is built in ${join(folder, "cache")}, so remat loads nothing from it.\n`,
    ]);
  });

  test("loads nothing that is not trusted to try it either", async () => {
    const app = build();
    const modules = join(app, "node_modules/@tensorflow/tfjs-node");
    mkdirSync(modules, { recursive: true });
    writeFileSync(join(modules, "package.json"), "{}");
    writeFileSync(join(modules, "index.js"), `require("fs").writeFileSync(${JSON.stringify(join(folder, "ran"))}, "")`);
    expect(await probe("@tensorflow/tfjs-node")).toMatchObject({
      works: false,
      missing: "trust",
      reason: expect.stringContaining("index.js was changed after the build"),
    });
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });
});

describe("remat doctor", () => {
  test("finds what is here, as JSON for programs", async () => {
    const { code, stdout, stderr } = await remat("doctor", "--format", "json");
    expect([code, stderr]).toEqual([0, ""]);
    const found = JSON.parse(stdout);
    expect(found).toMatchObject({
      node: process.version,
      versions: { "@tensorflow/tfjs-core": "4.22.0" },
      cache: { native: [] },
    });
    expect(found.versions["@remat/trace"]).toMatch(/^\d+\.\d+\.\d+/);
    expect(
      found.backends.map(({ package: name, works, fix }: BackendProbe & { fix?: string }) => [name, works, fix]),
    ).toEqual([
      ["@tensorflow/tfjs-node-gpu", false, "remat setup native --gpu"],
      ["@tensorflow/tfjs-node", false, "remat setup native"],
      ["@tensorflow/tfjs-backend-wasm", true, undefined],
      ["@tensorflow/tfjs-backend-cpu", true, undefined],
    ]);
  });

  test("fails where no backend works, after the table", async () => {
    let stdout = "";
    const io = {
      stdout: { write: (text: string | Uint8Array) => (stdout += String(text)) },
      stderr: { write: () => {} },
      env: {},
    };
    const lacking = async ({ package: { name }, backend }: BroughtBackend) => ({
      ...missing,
      package: name,
      backend: backend.name as BackendName,
    });
    await expect(doctor(readOptions(doctorOptions, {}), io, lacking)).rejects.toMatchObject({ code: "NO_BACKEND" });
    expect(stdout).toContain("npm install @tensorflow/tfjs-backend-cpu");
    expect(stdout).toContain("No backend works");
  });

  test("refuses another format", async () => {
    expect(await remat("doctor", "--format", "xml")).toMatchObject({ code: 2, stdout: "" });
  });
});
