import { Session } from "node:inspector";
import { buildTransformer } from "../../../examples/transformer/model.js";
import { cpuMs, median } from "./measure.js";

/** Kernels of so few numbers take about as long as the engine's own work for them. */
const config = { layers: 6, heads: 2, vocabulary: 16, positions: 8, width: 4, dropoutRate: 0.1, batch: 2 };
const budgetFraction = 0.2;
const warmups = 4;
const rounds = 15;
const steps = 10;

/**
 * @typedef {object} Overhead of one strategy
 * @property {number} usPerOp CPU time of a forward and backward pass, per kernel that it runs
 * @property {number} bytesPerOp that JavaScript allocates, per kernel
 * @property {number} ops that a pass runs, with those that it recomputes
 * @property {number} runs that are measured
 */

/**
 * Measures passes of a transformer of tiny tensors on the cpu backend: unmodified, with early release, within 100% of
 * its memory, and under a plan that recomputes. The strategies take turns.
 *
 * @param {import("./headlines.js").Packages} packages
 * @returns {Promise<Readonly<Record<string, Overhead>>>}
 */
export async function executorOverheads(packages) {
  const step = await tinyStep(packages);
  const strategies = await strategiesFor(packages, step);
  const names = Object.keys(strategies);
  const times = Object.fromEntries(names.map((name) => [name, /** @type {number[]} */ ([])]));
  /** @type {Record<string, number>} */
  const bytes = {};
  for (let round = 0; round < rounds; round++)
    for (const name of names)
      await strategies[name].during(async (pause) => {
        for (let i = 0; i < warmups; i++, await pause()) step.run();
        const before = cpuMs();
        for (let i = 0; i < steps; i++) step.run();
        times[name].push((cpuMs() - before) / steps);
        if (round === rounds - 1) bytes[name] = allocatedBytes(step.run);
      });
  return Object.fromEntries(
    names.map((name) => {
      const ops = step.ops + strategies[name].recomputedOps;
      // The first rounds compile code.
      const ms = median(times[name].slice(rounds >> 1));
      return [
        name,
        { usPerOp: (1000 * ms) / ops, bytesPerOp: bytes[name] / ops, ops, runs: steps * (rounds - (rounds >> 1)) },
      ];
    }),
  );
}

/** @param {import("./headlines.js").Packages} packages */
async function tinyStep(packages) {
  const { selectBackend } = await packages.import("@remat/dispatch-hook/backends/node");
  const { tfNamespace } = await packages.import("@remat/tracer");
  await selectBackend({ backend: "cpu" });
  const tf = tfNamespace();
  const build = (/** @type {object} */ args) => buildTransformer({ config, ...args });
  const { forward, parameters, inputs } = build({ tf });
  const weights = Object.values(parameters);
  const run = () => tf.dispose(tf.variableGrads(() => tf.sum(forward(inputs, { training: true })), weights));
  const { traceFakeStep } = await packages.import("@remat/tracer");
  const { deviceSpec, priceTrace } = await packages.import("@remat/runtime-estimator");
  const trace = priceTrace(
    await traceFakeStep(build, { name: "tiny", optimizer: "none", loss: "sum", backend: "cpu" }),
    deviceSpec("cpu"),
  );
  return { run, trace, ops: trace.ops.count };
}

/**
 * @param {import("./headlines.js").Packages} packages
 * @param {Awaited<ReturnType<typeof tinyStep>>} step
 */
async function strategiesFor(packages, step) {
  const { applyPlan, openMemoryBudget, releaseEarly } = await packages.import("@remat/checkpoint");
  const { planCheckpointing } = await packages.import("@remat/planner");
  const { point } = await planCheckpointing(step.trace, { budgetFraction, iterations: 2000, boundTimeMs: 0 });
  const opening =
    (/** @type {() => (() => void)} */ open) => async (/** @type {(pause: () => unknown) => Promise<void>} */ work) => {
      const close = open();
      try {
        await work(() => undefined);
      } finally {
        close();
      }
    };
  return {
    unmodified: { recomputedOps: 0, during: opening(() => () => {}) },
    released: { recomputedOps: 0, during: opening(() => releaseEarly()) },
    budgeted: {
      recomputedOps: 0,
      async during(/** @type {(pause: () => unknown) => Promise<void>} */ work) {
        const { execution, close } = openMemoryBudget("100%");
        try {
          await work(() => execution.planned);
        } finally {
          close();
        }
      },
    },
    planned: {
      recomputedOps: recomputedOpsOf(point.plan),
      during: opening(() => applyPlan(point.plan).close),
    },
  };
}

const recomputedOpsOf = (/** @type {{ steps: readonly { isRecomputed: boolean }[] }} */ { steps }) =>
  steps.filter(({ isRecomputed }) => isRecomputed).length;

/** Bytes that `run` allocates in the heap of JavaScript. */
function allocatedBytes(/** @type {() => void} */ run) {
  const session = new Session();
  session.connect();
  session.post("HeapProfiler.startSampling", {
    samplingInterval: 1024,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  run();
  let bytes = 0;
  session.post("HeapProfiler.stopSampling", (_, { profile }) => {
    bytes = profile.samples.reduce((sum, { size }) => sum + size, 0);
  });
  session.disconnect();
  return bytes;
}
