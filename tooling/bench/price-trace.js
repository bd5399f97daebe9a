// Estimates op times of a trace of a million ops for another device.
// Usage: node tooling/bench/price-trace.js [ops]
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { largeTrace } from "./src/large-trace.js";
import { timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";

const opCount = Number(process.argv[2] ?? 1_000_000);
const trace = largeTrace(opCount, 1000);
const device = deviceSpec("h100");
const { wallMs, cpuMs, runs } = await timeWarm(() => priceTrace(trace, device), { warmups: 1, runs: 5 });
report({ what: `priceTrace, ${opCount} ops`, value: wallMs, cpu: cpuMs, unit: "ms", runs });
