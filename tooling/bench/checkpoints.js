// Plans checkpoint policies within 60% of the peak for recorded PyTorch steps: GPT-2 and a Llama of 1.5 billion
// parameters. The search ends by rounds, so that every run does the same work.
// Usage: node tooling/bench/checkpoints.js [rounds]
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { planTorchCheckpoints } from "@remat/planner/executors";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";

const rounds = Number(process.argv[2] ?? 10);
const recordings = { "GPT-2": "gpt2-pytorch/gpt2.json.gz", "Llama, 1.5B": "llama-pytorch/run-1b.json.gz" };

for (const [name, file] of Object.entries(recordings)) {
  const recorded = gunzipSync(readFileSync(new URL(`../../examples/${file}`, import.meta.url)));
  const trace = priceTrace(readPyTorchTrace(JSON.parse(recorded.toString())), deviceSpec("a100"));
  const plan = () =>
    planTorchCheckpoints(trace, { budget: { fraction: 0.6 }, rounds, findsLeast: false, now: () => 0 });
  const { wallMs, cpuMs, runs, result } = await timeWarm(plan, { warmups: 1, runs: 3 });
  const { found, least } = result;
  report({
    what: `checkpoint policy within 60%, ${name}, ${trace.ops.count} ops`,
    value: wallMs,
    cpu: cpuMs,
    unit: "ms",
    runs,
    note: found === undefined ? `least ${least.peakBytes} bytes` : `${(100 * found.overhead).toFixed(2)}% overhead`,
  });
}
