// Measures statistics, greedy order, trade-off curve and two-segment fit of every module of a trace of a million ops in a
// thousand modules, nested three deep. Does the same with half as many ops, to check that time grows linearly.
// Usage: node tooling/bench/sac-core.js [ops [modules]]
import { greedyOrder, sacStats, tradeOff } from "@remat/sac-core";
import { largeTrace } from "./src/large-trace.js";
import { peakResidentMiB, timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";

const opCount = Number(process.argv[2] ?? 1_000_000);
const moduleCount = Number(process.argv[3] ?? 1000);

async function timeAll(ops) {
  const trace = largeTrace(ops, moduleCount);
  const steps = { sacStats: [], greedyOrder: [], tradeOff: [] };
  const time = await timeWarm(
    () => {
      const start = performance.now();
      const stats = [...sacStats(trace).values()];
      const counted = performance.now();
      const orders = stats.map(greedyOrder);
      const ordered = performance.now();
      stats.forEach((one, i) => tradeOff(one, orders[i], { nSegments: 2 }));
      steps.sacStats.push(counted - start);
      steps.greedyOrder.push(ordered - counted);
      steps.tradeOff.push(performance.now() - ordered);
    },
    { warmups: 0, runs: 3 },
  );
  const best = Object.entries(steps).map(([name, ms]) => `${name} ${Math.min(...ms).toFixed(0)} ms`);
  return { ...time, note: `at best ${best.join(", ")}` };
}

const whole = await timeAll(opCount);
report({
  what: `sac-core, ${opCount} ops in ${moduleCount} modules`,
  value: whole.wallMs,
  cpu: whole.cpuMs,
  unit: "ms",
  runs: whole.runs,
  bound: 1000,
  note: whole.note,
});
report({ what: "sac-core: memory resident, the trace's included", value: peakResidentMiB(), unit: "MiB", bound: 1024 });
const half = await timeAll(opCount / 2);
report({
  what: "sac-core: time over that of half as many ops",
  value: whole.cpuMs / half.cpuMs,
  unit: "times",
  bound: 2.5,
  note: `${half.note}; a linear algorithm takes 2 times, but for caches`,
});
