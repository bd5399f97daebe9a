// Measures the time from a model's code to statistics, greedy orders and two-segment fits of all its modules: warm in one
// process, and cold as a whole process of `remat estimate`.
// Usage: node tooling/bench/estimate.js [transformer|gpt-2|gpt-3 …]
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { greedyOrder, sacStats, tradeOff } from "@remat/sac-core";
import { traceFakeStep } from "@remat/tracer";
import { timeOnce, timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";
import { timeRemat } from "./src/run-remat.js";
import { timeTorch } from "./src/torch.js";

/** Bounds in milliseconds and MiB, and PyTorch's model of the same layers, if there is one. */
const models = {
  transformer: { warm: 12, cold: 300, residentMiB: 80, torch: "sac_02_transformer" },
  "gpt-2": { warm: 30, cold: 400, torch: "sac_07_gpt2" },
  "gpt-3": { cold: 1000, residentMiB: 1024 },
};

const device = deviceSpec("a100");

/** The step of `bench_one.py`: the sum of the outputs is differentiated, and no weight is updated. */
const step = { loss: "sum", optimizer: "none" };

/**
 * Forward and backward pass without data, op times, statistics, orders and fits: the same work that `bench_one.py`
 * times in PyTorch.
 */
async function estimate(exported, name) {
  const trace = priceTrace(await traceFakeStep(exported, { ...step, name }), device);
  const stats = [...sacStats(trace).values()];
  return stats.map((one) => tradeOff(one, greedyOrder(one), { nSegments: 2 }));
}

const wanted = process.argv.slice(2);
for (const [name, bounds] of Object.entries(models)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const torch = bounds.torch === undefined ? undefined : timeTorch(bounds.torch);
  const cold = timeRemat(["estimate", `examples/${name}/model.js`], bounds.warm === undefined ? 3 : 7);
  report({
    what: `${name}: remat estimate, whole process`,
    value: cold.wallMs,
    cpu: cold.cpuMs,
    unit: "ms",
    runs: cold.runs,
    theirs: torch?.coldMs,
    bound: bounds.cold,
  });
  report({
    what: `${name}: memory resident in it`,
    value: cold.residentMiB,
    unit: "MiB",
    theirs: torch?.residentMiB,
    bound: bounds.residentMiB,
  });
  const { default: exported } = await import(`../../examples/${name}/model.js`);
  if (bounds.warm === undefined) continue;
  const second = await timeOnce(() => estimate(exported, name)).then(() => timeOnce(() => estimate(exported, name)));
  const warm = await timeWarm(() => estimate(exported, name), { warmups: 40, runs: 21 });
  report({
    what: `${name}: estimate, second in a process`,
    value: second.wallMs,
    cpu: second.cpuMs,
    unit: "ms",
    runs: 1,
  });
  report({
    what: `${name}: estimate, warm`,
    value: warm.wallMs,
    cpu: warm.cpuMs,
    unit: "ms",
    runs: warm.runs,
    theirs: torch?.warmMs,
    bound: bounds.warm,
  });
}
