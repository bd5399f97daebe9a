import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ModTracker } from "@remat/mod-tracker";
import { phaseNames, RuntimeSource, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { programPath, runStock, runUnder } from "./run-program-under.js";

const order = { kind: "record", steps: 3, seconds: 60 } as const;

const ops = (trace: Trace): string[] =>
  Array.from({ length: trace.ops.count }, (_, op) => `${phaseNames[trace.ops.phase[op]]} ${trace.opName(op)}`);
/** For each op: the modules in which it ran, outermost first. */
const modules = (trace: Trace): string[] =>
  Array.from({ length: trace.ops.count }, (_, op) =>
    Array.from(trace.opCalls(op), (call) => trace.modules[trace.calls.module[call]].fqn).join(" "),
  );

/** A training step of the model of `fit.mjs`, recorded here by a tracker that was told of it; the optimizer's slots are there. */
async function stepOfFit(): Promise<Trace> {
  const layers = [
    tf.layers.dense({ name: "dense_Dense1", units: 8, activation: "relu", inputShape: [6] }),
    tf.layers.dense({ name: "dense_Dense2", units: 1 }),
  ];
  const model = tf.sequential({ name: "sequential_1", layers });
  model.compile({ optimizer: "adam", loss: "meanSquaredError" });
  const [x, y] = [tf.ones([4, 6]), tf.ones([4, 1])];
  await model.trainOnBatch(x, y);
  const recorder = new TraceRecorder();
  const tracker = new ModTracker({ recorder });
  tracker.track(model);
  await tracker.run(() => model.trainOnBatch(x, y));
  tracker.close();
  return recorder.trace();
}

const lines = (trace: Trace): (string | undefined)[] =>
  Array.from({ length: trace.ops.count }, (_, op) => trace.opLine(op));

describe("recording a program", () => {
  it("leaves an ES module what it prints, and finds the step that came most often", async () => {
    const command = ["node", "fit.mjs"];
    const { exitCode, stdout, reports, traces } = await runUnder({ ...order, steps: 6 }, command);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(runStock(command));
    const [report] = reports;
    expect(report).toMatchObject({ version: "4.22.0", passes: 9, device: "cpu" });
    // Among the first six steps, the first creates slots, and two have a batch of two.
    expect(report.recorded).toMatchObject([{ model: "sequential_1", optimizer: "Adam", steps: 6, alike: 3 }]);
    const [trace] = traces;
    const step = await stepOfFit();
    expect(ops(trace)).toEqual(ops(step));
    expect(modules(trace)).toEqual(modules(step));
    expect(new Set(modules(trace))).toContain("sequential_1 sequential_1.dense_Dense1");
    expect(new Set(trace.ops.runtimeSource)).toEqual(new Set([RuntimeSource.measured]));
    expect(new Set(trace.ops.runtimeRuns)).toEqual(new Set([3]));
  });

  it("tells models and optimizers of a CommonJS program apart, and restores the engine", async () => {
    const command = ["node", "loop.cjs"];
    const { stdout, reports, traces } = await runUnder({ ...order, seconds: 0.001 }, command);
    expect(stdout).toBe(runStock(command));
    expect(stdout).toMatch(/patched: 0$/m);
    expect(reports[0].recorded).toMatchObject([{ optimizer: "SGD" }]);
    const all = await runUnder(order, command);
    expect(all.reports[0].recorded?.map(({ optimizer, steps }) => [optimizer, steps])).toEqual([
      ["SGD", 3],
      ["Momentum", 3],
      [undefined, 3],
    ]);
    expect(traces.length).toBe(1);
    const [sgd, momentum, own] = all.traces;
    expect(ops(sgd)).toEqual([
      "forward BatchMatMul",
      "forward Square",
      "forward Mean",
      ...ops(sgd).slice(3, -2),
      "optimizer Multiply",
      "optimizer Add",
    ]);
    expect(new Set(lines(sgd))).toEqual(new Set(["loop.cjs:9:39", "loop.cjs:9:52", "loop.cjs:9:61", "loop.cjs:9:21"]));
    expect(new Set(lines(momentum))).toEqual(new Set(["loop.cjs:10:44", "loop.cjs:10:27"]));
    expect(ops(own).at(-1)).toBe("forward Sub");
  });

  it("calls a step after the models that it updates, with the others that it runs", async () => {
    const { reports, traces } = await runUnder({ ...order, steps: 4 }, ["node", "two-models.cjs"]);
    const names = ["discriminator with generator", "generator with discriminator"];
    expect(reports[0].recorded?.map(({ model }) => model)).toEqual(names);
    expect(traces.map(({ header }) => header.model)).toEqual(names);
  });

  it("has a graph model and the head that is trained on what it gives in one step, of whose base nothing is kept", async () => {
    const command = ["node", "transfer.cjs"];
    const { stdout, traces } = await runUnder({ ...order, steps: 4 }, command);
    expect(stdout).toBe(runStock(command));
    expect(traces).toHaveLength(1);
    const [trace] = traces;
    const forward = ops(trace).filter((op) => op.startsWith("forward"));
    expect(forward.slice(0, 3)).toEqual(["forward BatchMatMul", "forward Tanh", "forward BatchMatMul"]);
    expect(ops(trace).filter((op) => op.startsWith("backward") && op.includes("Tanh"))).toEqual([]);
    expect(lines(trace)[0]).toMatch(/transfer\.cjs:\d+:\d+$/);
  });

  it("works on the program's own copy of tfjs, of another version, wherever the agent is", async () => {
    const folder = mkdtempSync(join(tmpdir(), "remat-own-tfjs-"));
    try {
      copyTensorFlow(folder, "4.19.0");
      cpSync(programPath("fit.mjs"), join(folder, "fit.mjs"));
      const { stdout, reports, traces } = await runUnder(order, ["node", "fit.mjs"], folder);
      expect(stdout).toBe(runStock(["node", "fit.mjs"], folder));
      expect(reports).toMatchObject([{ version: "4.19.0", recorded: [{ optimizer: "Adam" }] }]);
      expect(traces[0].header.frameworkVersion).toBe("4.19.0");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("says which version of tfjs it needs, and leaves the program alone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "remat-own-tfjs-"));
    try {
      copyTensorFlow(folder, "3.21.0");
      cpSync(programPath("fit.mjs"), join(folder, "fit.mjs"));
      const { stdout, reports } = await runUnder(order, ["node", "fit.mjs"], folder);
      expect(stdout).toBe(runStock(["node", "fit.mjs"], folder));
      expect(reports).toMatchObject([
        {
          recorded: [],
          problem: expect.stringMatching(/tfjs-core 3\.21\.0, which is not supported\. Install TensorFlow\.js 4\.17/),
        },
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Copies of what tfjs loads in Node, with a version of their own. */
function copyTensorFlow(folder: string, version: string): void {
  const seen = new Set<string>();
  const copy = (name: string, from: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const manifest = findManifest(name, from);
    if (manifest === undefined) return;
    const target = join(folder, "node_modules", name);
    mkdirSync(name.startsWith("@tensorflow/") ? target : dirname(target), { recursive: true });
    const { main = "index.js", dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as {
      main?: string;
      dependencies?: Record<string, string>;
    };
    if (name.startsWith("@tensorflow/")) {
      cpSync(manifest, join(target, "package.json"));
      mkdirSync(dirname(join(target, main)), { recursive: true });
      const text = readFileSync(join(dirname(manifest), main), "utf8");
      writeFileSync(join(target, main), text.replaceAll("4.22.0", version));
    } else symlinkSync(realpathSync(dirname(manifest)), target);
    for (const dependency of Object.keys(dependencies)) copy(dependency, manifest);
  };
  copy("@tensorflow/tfjs", programPath("fit.mjs"));
}

function findManifest(name: string, from: string): string | undefined {
  const paths = createRequire(from).resolve.paths(name) ?? [];
  return paths.map((path) => join(path, name, "package.json")).find((path) => existsSync(path));
}
