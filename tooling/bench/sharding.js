// Simulates one sharding plan, and a thousand, of the recorded Llama of 1.5 billion parameters. Some plans have
// checkpointing and times.
// Usage: node tooling/bench/sharding.js [plans]
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { CheckpointedRun, parseShardingPlan, scheduleStreams, simulateFsdp } from "@remat/sharding";
import { timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";

const planCount = Number(process.argv[2] ?? 1000);
const recorded = new URL("../../examples/llama-pytorch/run-1b.json.gz", import.meta.url);
const device = deviceSpec("h100");
const trace = priceTrace(readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(recorded)).toString())), device);

const knobs = [
  "",
  ",no-reshard",
  ",bf16",
  ",bf16,checkpoint='layers.*'",
  ",bf16,checkpoint='layers.*'(save=mm)",
  ",offload",
];
const plans = Array.from({ length: planCount }, (_, i) =>
  parseShardingPlan(`world=${2 ** (1 + (i % 8))}${knobs[i % knobs.length]}`),
);

function simulate(runs, plan) {
  const simulation = simulateFsdp(trace, plan, runs);
  return [heldPeak(simulation.trace).peakBytes, scheduleStreams(simulation, simulation.trace, device).totalMs];
}

const one = await timeWarm(() => simulate(new CheckpointedRun(trace), plans[4]), { warmups: 2, runs: 9 });
const all = await timeWarm(
  () => {
    const runs = new CheckpointedRun(trace);
    return plans.map((plan) => simulate(runs, plan));
  },
  { warmups: 0, runs: 1 },
);
const figure = (what, { wallMs, cpuMs, runs }, bound) => ({ what, value: wallMs, unit: "ms", cpu: cpuMs, runs, bound });
report(figure(`a plan that checkpoints, ${trace.ops.count} ops: peak and time`, one, 20));
report(figure(`${planCount} plans`, all, 6 * planCount));
