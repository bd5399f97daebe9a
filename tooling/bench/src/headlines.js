import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { median, timeOnce } from "./measure.js";

/**
 * @typedef {object} Headline a figure that no change may make more than 5% worse without notice
 * @property {string} name
 * @property {"ms" | "us/op" | "MiB" | "calls"} unit
 * @property {readonly string[]} [command] of `remat`, whose CPU time or memory is the figure
 * @property {(packages: Packages) => Promise<number>} [measure] the figure, by the built packages of a tree
 */

/** @typedef {{ readonly root: string, import(...specifiers: string[]): Promise<any>, example(name: string): Promise<any> }} Packages */

/** Calls before those that count: the JIT compiles hot code after tens of calls. */
const warmups = 20;
const calls = 11;

/** @type {readonly Headline[]} */
export const headlines = [
  { name: "remat --version", unit: "ms", command: ["--version"] },
  { name: "remat estimate, transformer", unit: "ms", command: ["estimate", "examples/transformer/model.js"] },
  { name: "remat estimate, GPT-2", unit: "ms", command: ["estimate", "examples/gpt-2/model.js"] },
  { name: "remat memory, transformer", unit: "ms", command: ["memory", "examples/transformer/model.js"] },
  {
    name: "memory of remat estimate, transformer",
    unit: "MiB",
    command: ["estimate", "examples/transformer/model.js"],
  },
  { name: "estimate in a warm process, transformer", unit: "ms", measure: warmEstimate("transformer") },
  { name: "estimate in a warm process, GPT-2", unit: "ms", measure: warmEstimate("gpt-2") },
  { name: "recording, on top of fake mode", unit: "us/op", measure: recording },
  { name: "kernel calls of a step, transformer", unit: "calls", measure: kernelCalls("transformer") },
  { name: "kernel calls of a step, GPT-2", unit: "calls", measure: kernelCalls("gpt-2") },
];

/** The built packages of a working tree. A specifier that an older tree lacks falls back on the next. */
export function packagesOf(/** @type {string} */ root) {
  const entryOf = (/** @type {string} */ specifier) => {
    const [, name, ...path] = specifier.split("/");
    const file = join(root, "packages", name, "dist", ...path);
    return [`${file}.js`, join(file, "index.js")].find((one) => existsSync(one));
  };
  return {
    root,
    async import(/** @type {string[]} */ ...specifiers) {
      const file = specifiers.map(entryOf).find((one) => one !== undefined);
      if (file === undefined) throw new Error(`${root} has none of ${specifiers.join(", ")}.`);
      return import(pathToFileURL(file).href);
    },
    async example(/** @type {string} */ name) {
      const module = await import(pathToFileURL(join(root, "examples", name, "model.js")).href);
      return module.default;
    },
  };
}

/**
 * CPU milliseconds of an estimate: forward and backward pass, op times, statistics, greedy orders and fits of all
 * modules.
 *
 * @param {string} name
 */
function warmEstimate(name) {
  return async (/** @type {Packages} */ packages) => {
    const { traceFakeStep } = await packages.import("@remat/tracer");
    const { deviceSpec, priceTrace } = await packages.import("@remat/runtime-estimator");
    const { greedyOrder, sacStats, tradeOff } = await packages.import("@remat/sac-core");
    const model = await packages.example(name);
    const device = deviceSpec("a100");
    const estimate = async () => {
      const trace = priceTrace(await traceFakeStep(model, { name }), device);
      return [...sacStats(trace).values()].map((one) => tradeOff(one, greedyOrder(one), { nSegments: 2 }));
    };
    for (let i = 0; i < warmups; i++) await estimate();
    const times = [];
    for (let i = 0; i < calls; i++) times.push((await timeOnce(estimate)).cpuMs);
    return median(times);
  };
}

/** CPU microseconds per op that a recorder adds to a step in fake mode. @param {Packages} packages */
async function recording(packages) {
  const { withDispatchMode } = await packages.import("@remat/dispatch-hook");
  const { fakeMode } = await packages.import("@remat/dispatch-hook/fake", "@remat/fake");
  const { TraceRecorder, tfNamespace } = await packages.import("@remat/tracer");
  const build = await packages.example("transformer");
  const tf = tfNamespace();
  let ops = 0;
  /** @type {{ plain: number[], recorded: number[] }} */
  const times = { plain: [], recorded: [] };
  await fakeMode(
    async () => {
      const scope = (/** @type {string} */ _name, /** @type {() => unknown} */ run) => run();
      const { forward, parameters, inputs } = build({ tf, size: "full", scope });
      const step = () =>
        tf.dispose(tf.variableGrads(() => tf.sum(forward(inputs, { training: true })), Object.values(parameters)));
      withDispatchMode({ opDone: () => void ops++ }, step);
      for (let i = 0; i < 3 * warmups; i++) {
        times.plain.push((await timeOnce(step)).cpuMs);
        times.recorded.push((await timeOnce(() => withDispatchMode(new TraceRecorder(), step))).cpuMs);
      }
    },
    { backend: "tensorflow" },
  );
  return (1000 * (median(times.recorded.slice(warmups)) - median(times.plain.slice(warmups)))) / ops;
}

/** Kernels that a traced step runs. @param {string} name */
function kernelCalls(name) {
  return async (/** @type {Packages} */ packages) => {
    const { traceFakeStep } = await packages.import("@remat/tracer");
    return (await traceFakeStep(await packages.example(name), { name })).ops.count;
  };
}
