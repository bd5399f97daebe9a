// Writes a trace of a million ops as JSON Lines and reads it back, plain and gzipped. Usage: node tooling/bench/trace-codec.js [ops]
import { readTrace, writeTrace } from "@remat/trace";
import { largeTrace } from "./src/large-trace.js";
import { peakResidentMiB, timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";

const opCount = Number(process.argv[2] ?? 1_000_000);
const trace = largeTrace(opCount, 1000);

for (const gzip of [false, true]) {
  const written = await timeWarm(() => [...writeTrace(trace, { gzip })], { warmups: 0, runs: 3 });
  const chunks = written.result;
  const read = await timeWarm(() => readTrace(chunks), { warmups: 0, runs: 3 });
  if (read.result.ops.count !== opCount) throw new Error(`read ${read.result.ops.count} ops of ${opCount}`);
  const megabytes = chunks.reduce((bytes, chunk) => bytes + chunk.length, 0) / 1e6;
  const kind = gzip ? ", gzipped" : "";
  const size = `${megabytes.toFixed(0)} MB`;
  const row = (time) => ({ value: time.wallMs, cpu: time.cpuMs, unit: "ms", runs: time.runs });
  report({ what: `trace of ${opCount} ops: write${kind}`, ...row(written), note: size });
  // T10: a million ops stream from disk in a second or two.
  report({ what: `trace of ${opCount} ops: read${kind}`, ...row(read), bound: 2000, note: size });
}
report({ what: "trace: memory resident, file and traces included", value: peakResidentMiB(), unit: "MiB" });
