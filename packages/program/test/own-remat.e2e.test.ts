import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countReplayedOps } from "@remat/trace";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentFromSources, runStock, runUnder } from "./run-program-under.js";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const folder = realpathSync(mkdtempSync(join(tmpdir(), "remat-own-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const training = `
const w = tf.variable(tf.randomNormal([32, 32], 0, 0.1, "float32", 1));
const x = tf.randomNormal([64, 32], 0, 1, "float32", 2);
const adam = tf.train.adam(0.01);
const layers = (t) => { for (let i = 0; i < 3; i++) t = t.matMul(w).tanh(); return t; };
const train = (block) => { for (let i = 0; i < 4; i++) adam.minimize(() => block(x).square().mean()); };
const told = () => console.log(Array.from(new Uint32Array(w.dataSync().slice().buffer)).join(" "));
`;

/** A program with a bundle that holds a copy of tfjs, which owns the engine, and another copy that is loaded after it. */
const twoCores = `
const bundled = require("./vendor.cjs");
const other = require("@tensorflow/tfjs");
if (bundled.Tensor === other.Tensor || bundled.engine() !== other.engine()) throw new Error("one copy");
const w = bundled.variable(bundled.ones([4]));
const x = other.tensor1d([1, 2, 3, 4]);
for (let i = 0; i < 3; i++) bundled.train.sgd(0.1).minimize(() => bundled.sum(bundled.square(bundled.mul(w, x))));
console.log(new Uint32Array(w.dataSync().slice().buffer)[2]);
`;

const files = {
  "blocks.mjs": `import { checkpoint } from "@remat/checkpoint"; import * as tf from "@tensorflow/tfjs";
    ${training} train(checkpoint(layers)); told();`,
  "blocks.cjs": `const { checkpoint } = require("@remat/checkpoint"); const tf = require("@tensorflow/tfjs");
    ${training} train(checkpoint(layers)); told();`,
  "budget.mjs": `import { RematError } from "@remat/trace"; import * as tf from "@tensorflow/tfjs";
    import { withMemoryBudget } from "@remat/checkpoint"; ${training} const run = () => train(layers);
    try { withMemoryBudget("1KB", run); } catch (error) { console.log(error instanceof RematError, error.code); }
    withMemoryBudget("85%", run); told();`,
};

/** The program's own copies, of one version. */
async function install(at: string, version: string): Promise<void> {
  const modules = join(at, "node_modules");
  mkdirSync(join(modules, "@remat"), { recursive: true });
  symlinkSync(here("../../checkpoint/node_modules/@tensorflow"), join(modules, "@tensorflow"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(at, name), text);
  for (const name of ["trace", "checkpoint"]) {
    const to = join(modules, "@remat", name);
    await build({
      stdin: { contents: `export * from "@remat/${name}";`, resolveDir: here("..") },
      outfile: join(to, "index.js"),
      bundle: true,
      format: "esm",
      platform: "node",
      conditions: ["@remat/source"],
      external: ["@tensorflow/*", "highs"],
      logLevel: "error",
    });
    const manifest = { name: `@remat/${name}`, version, type: "module", exports: "./index.js" };
    writeFileSync(join(to, "package.json"), JSON.stringify(manifest));
  }
}

const record = { kind: "record", steps: 2, seconds: 60 } as const;
const command = (name: string) => [process.execPath, name];

describe("a program that uses remat itself", () => {
  beforeAll(async () => {
    const { version } = JSON.parse(readFileSync(here("../../checkpoint/package.json"), "utf8")) as { version: string };
    await install(folder, version);
  });

  it.each(["blocks.mjs", "blocks.cjs"])("%s is recorded with the blocks that it checkpoints by hand", async (name) => {
    const { stdout, stderr, traces } = await runUnder(record, command(name), folder);
    expect(stdout, stderr).toBe(runStock(command(name), folder));
    // Not the last two: the gradient of tanh reads its result, which the block returns.
    expect(traces.map(countReplayedOps)).toEqual([4]);
  });

  it.each(["blocks.mjs", "blocks.cjs"])("%s keeps a budget, which decides what its blocks recompute", async (name) => {
    const { stdout, stderr, reports } = await runUnder({ kind: "exec", budget: "85%" }, command(name), folder);
    expect(stdout, stderr).toBe(runStock(command(name), folder));
    const { heldBytes = Number.NaN, budgetBytes = Number.NaN } = reports[0].executed ?? {};
    expect(heldBytes).toBeLessThanOrEqual(budgetBytes);
  });

  it("keeps a budget of its own while it is recorded or released early, and knows our errors", async () => {
    const stock = runStock(command("budget.mjs"), folder);
    expect(stock).toMatch(/^true BUDGET/);
    for (const order of [record, { kind: "exec" } as const]) {
      const { stdout, stderr, reports } = await runUnder(order, command("budget.mjs"), folder);
      expect(stdout, stderr).toBe(stock);
      expect(reports[0].problem).toBeUndefined();
    }
  });

  it("is told that there would be two budgets", async () => {
    const { exitCode, stdout, reports } = await runUnder(
      { kind: "exec", budget: "85%" },
      command("budget.mjs"),
      folder,
    );
    expect(exitCode).toBe(1);
    expect(stdout).toBe("true TWO_BUDGETS\n");
    expect(reports[0].problem).toMatch(/`remat exec --budget 85%` sets another\. .*`remat exec --early-release`/);
  });

  it.each([record, { kind: "leaks" } as const])(
    "runs under %j to its end with a stderr that cannot be written, as it does alone",
    async (order) => {
      const lines = `for (let i = 0; i < 3; i++) console.warn("on stderr"); console.error("too");`;
      writeFileSync(
        join(folder, "warns.mjs"),
        `${files["blocks.mjs"]} ${lines} setTimeout(() => console.log("end"), 50);`,
      );
      const limited = ["sh", "-c", `ulimit -f 0; exec "${process.execPath}" warns.mjs 2> full.txt`];
      const stock = runStock(limited, folder);
      expect(stock).toMatch(/end\n$/);
      const { exitCode, stdout } = await runUnder(order, limited, folder);
      expect([exitCode, stdout]).toEqual([0, stock]);
    },
  );

  describe("with another version", () => {
    const other = join(folder, "other");
    beforeAll(async () => {
      mkdirSync(other);
      await install(other, "0.0.0-other");
    });

    it.each([record, { kind: "leaks" } as const])(
      "runs to its end under %j, which stands back and says so",
      async (order) => {
        const { exitCode, stdout, stderr, reports } = await runUnder(order, command("blocks.mjs"), other);
        expect(exitCode, stderr).toBe(0);
        expect(stdout).toBe(runStock(command("blocks.mjs"), other));
        expect(reports[0].problem).toMatch(
          /^remat stopped watching, .* without it: another copy of @remat\/dispatch-hook/,
        );
      },
    );

    it("is refused under exec, which would not keep its budget", async () => {
      const { exitCode, stderr } = await runUnder({ kind: "exec", budget: "85%" }, command("blocks.mjs"), other);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("another copy of @remat/dispatch-hook already watches TensorFlow.js");
    });
  });

  it.each([record, { kind: "leaks" } as const])(
    "trains variables of another copy of tfjs-core to its end under %j, which stands back and says so",
    async (order) => {
      writeFileSync(join(folder, "two-cores.cjs"), twoCores);
      await build({
        stdin: { contents: 'module.exports = require("@tensorflow/tfjs");', resolveDir: here("../../checkpoint") },
        outfile: join(folder, "vendor.cjs"),
        bundle: true,
        format: "cjs",
        platform: "node",
        logLevel: "error",
      });
      const { exitCode, stdout, stderr, reports } = await runUnder(order, command("two-cores.cjs"), folder);
      expect(exitCode, stderr).toBe(0);
      expect(stdout).toBe(runStock(command("two-cores.cjs"), folder));
      expect(stdout).toMatch(/^\d+\n$/);
      expect(reports[0].problem).toMatch(/without it: two copies of @tensorflow\/tfjs-core are loaded/);
    },
  );
});

describe("packages that the agent shares", () => {
  /** Entries that have no state of their own and import the engine's packages by name, so that a program may have its own copy. */
  const apart = [
    "@remat/dispatch-hook/backends/node",
    "@remat/planner/node",
    "@remat/planner/sharding",
    "@remat/runtime-estimator/aten",
    "@remat/runtime-estimator/calibrate",
    "@remat/runtime-estimator/step",
    "@remat/sac-core/estimator",
    "@remat/sharding/compare",
    "@remat/trace/arrow",
    "@remat/trace/files",
  ];

  it("is all entry points of its packages", async () => {
    const text = readFileSync(join(await agentFromSources(), "packages.json"), "utf8");
    const shared = Object.keys(JSON.parse(text) as object);
    const packages = new Set(shared.map((specifier) => specifier.split("/")[1]));
    const entries = [...packages].flatMap((name) => {
      const { exports } = JSON.parse(readFileSync(here(`../../${name}/package.json`), "utf8")) as { exports: object };
      return Object.keys(exports).map((entry) => `@remat/${name}${entry.slice(1)}`);
    });
    expect([...shared, ...apart].sort()).toEqual(entries.sort());
    const bundled = readdirSync(here("../src/agent")).filter((name) => name.endsWith("-packages.ts"));
    expect(bundled).toEqual(["engine-packages.ts", "pure-packages.ts"]);
  });
});
