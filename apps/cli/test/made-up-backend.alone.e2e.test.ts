import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Backend } from "@remat/dispatch-hook/backends";
import { goldenFiles } from "@remat/testkit";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { remat } from "./run.js";

/** Calls of the simulated backend, in order. */
const asked = vi.hoisted((): string[] => []);
type List = Readonly<Record<"cpu", Backend>>;
// The line of the list. The backend is the cpu's under another name, brought by a package of its own, which lacks a kernel that training needs.
vi.mock("../../../packages/dispatch-hook/src/backends/backend-list.js", async (original) => {
  const list = await original<List>();
  const newb: Backend = {
    ...list.cpu,
    name: "newb",
    priority: 2.5,
    packages: [{ name: "tfjs-newb" }],
    prepare: () => asked.push("prepare"),
    provideGradientKernels: () => {
      asked.push("provideGradientKernels");
      const kernel = tf.getKernel("Conv2DBackpropFilter", "cpu");
      if (tf.getKernel(kernel.kernelName, "newb") === undefined) tf.registerKernel({ ...kernel, backendName: "newb" });
    },
  };
  return { ...list, newb };
});

const model = fileURLToPath(new URL("../../../examples/foo/model.js", import.meta.url));
const run = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!.path;

const home = process.cwd();
let project: string;
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "remat-newb-"));
  vi.stubEnv("REMAT_CACHE_DIR", join(project, "cache"));
  const folder = join(project, "node_modules/tfjs-newb");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "tfjs-newb", version: "1.0.0" }));
  // It finds the engine as a second copy of tfjs does; the kernels are those of the cpu's class, which is what makes them work.
  writeFileSync(
    join(folder, "index.js"),
    `const engine = globalThis._tfengine;
    const Cpu = engine.registryFactory.cpu.factory().constructor;
    engine.registerBackend("newb", () => new Cpu(), 2);
    globalThis.registerNewbKernels();`,
  );
  vi.stubGlobal("registerNewbKernels", () => {
    for (const kernel of tf.getKernelsForBackend("cpu"))
      if (kernel.kernelName !== "Conv2DBackpropFilter") tf.registerKernel({ ...kernel, backendName: "newb" });
  });
  process.chdir(project);
});
afterAll(() => {
  process.chdir(home);
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  rmSync(project, { recursive: true, force: true });
});

it("is a folder and a line: fake steps stand for a made-up backend", async () => {
  const { code, stdout, stderr } = await remat(
    "memory",
    model,
    "--size",
    "tiny",
    "--backend",
    "newb",
    "--format",
    "json",
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain('"newb"');
});

it("is started from its package, prepared and given the kernels of gradients, where ops run", async () => {
  const { code, stderr } = await remat(
    ...["estimate", model, "--size", "tiny", "--backend", "newb", "--mode", "operator-level-benchmark"],
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(tf.getBackend()).toBe("newb");
  expect(asked).toEqual(["prepare", "provideGradientKernels"]);
});

it("is in help, and in what is said of another", async () => {
  // Help is wrapped to the width of the terminal.
  expect((await remat("memory", "--help", "--all")).stdout).toMatch(/tensorflow,\s+newb,\s+wasm\s+or\s+cpu/);
  expect((await remat("memory", run, "--backend", "xla")).stderr).toContain(
    "expects one of tensorflow, newb, wasm, cpu",
  );
  expect((await remat("completion", "bash")).stdout).toContain("tensorflow newb wasm cpu");
});
