// Writes a realistic trace of a million ops (each has an output; some are saved, all are freed) to files in each form
// (JSON Lines, gzipped, Arrow), and reads it back in a separate process.
// Usage: node tooling/bench/trace.js [ops]
import { spawnSync } from "node:child_process";
import { createReadStream, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import { Category, Phase, RuntimeSource, readTrace, TraceBuilder, writeTrace } from "@remat/trace";
import { readArrowTrace, writeArrowTrace } from "@remat/trace/arrow";
import { peakResidentMiB, timeOnce } from "./src/measure.js";
import { report } from "./src/report.js";

const names = [
  "Conv2D",
  "FusedBatchNormV3",
  "Relu",
  "_FusedMatMul",
  "Add",
  "Multiply",
  "Softmax",
  "Transpose",
  "Reshape",
];
const opsPerModule = 1000;

/** Layers of ops on activations of 25 MB. Every tensor but the last eight is freed. */
function largeTrace(opCount) {
  const b = new TraceBuilder({
    framework: "tfjs",
    backend: "cpu",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
  });
  const shape = [8, 1024, 768];
  const bytes = 8 * 1024 * 768 * 4;
  const make = (category) => {
    const storage = b.allocate(bytes, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape }) };
  };
  const root = b.call(b.module({ fqn: "net", kind: "Net", leaf: false }), -1, true);
  const live = [];
  let last = make(Category.input).tensor;
  let call = root;
  for (let i = 0; i < opCount; i++) {
    if (i % opsPerModule === 0) {
      if (i > 0) b.exitModule(call, Phase.forward, [last]);
      call = b.call(b.module({ fqn: `net.block_${i / opsPerModule}`, kind: "Block", leaf: true }), root, true);
      b.enterModule(call, Phase.forward, [last]);
    }
    const { storage, tensor } = make(Category.activation);
    const op = b.op({
      name: names[i % names.length],
      stack: b.stackOfCall(call),
      inputs: [last, Math.max(0, last - 3)],
      outputs: [tensor],
      attributes: i % 3 === 0 ? { transposeA: false, transposeB: i % 2 === 0 } : undefined,
      runtimeMs: 0.125 + (i % 1000) / 1024,
      runtimeSource: RuntimeSource.roofline,
      flops: 1e9 + i,
      bytesRead: 2 * bytes,
      bytesWritten: bytes,
    });
    if (i % 4 === 0) b.save(storage, op, 1, tensor);
    live.push(storage);
    if (live.length > 8) b.free(live.shift());
    last = tensor;
  }
  b.exitModule(call, Phase.forward, [last]);
  return b.build();
}

/** The forms of a trace file: its name, and how it is written. */
const forms = [
  { what: "", name: "run.remat.jsonl", write: (trace) => writeTrace(trace) },
  { what: ", gzipped", name: "run.remat.jsonl.gz", write: (trace) => writeTrace(trace, { gzip: true }) },
  {
    what: ", Arrow",
    name: "run.remat.arrow",
    boundMs: 1000,
    write: (trace) => writeArrowTrace(trace, { compress: false }),
  },
  ...("zstdCompressSync" in zlib
    ? [
        {
          what: ", Arrow with zstd",
          name: "run.zstd.remat.arrow",
          boundMs: 1000,
          write: (trace) => writeArrowTrace(trace),
        },
      ]
    : []),
];

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
const opCount = Number(process.argv[2] ?? 1_000_000);

if (process.argv[3] !== undefined) {
  const path = process.argv[3];
  const read = () =>
    path.endsWith(".arrow")
      ? readArrowTrace(readFileSync(path))
      : readTrace(createReadStream(path, { highWaterMark: 1 << 18 }));
  const { wallMs, cpuMs, result } = await timeOnce(read);
  console.log(JSON.stringify({ wallMs, cpuMs, ops: result.ops.count, residentMiB: peakResidentMiB() }));
} else {
  const folder = mkdtempSync(join(tmpdir(), "remat-bench-"));
  try {
    const trace = largeTrace(opCount);
    for (const form of forms) {
      const path = join(folder, form.name);
      const file = openSync(path, "w");
      const written = await timeOnce(() => {
        for (const chunk of form.write(trace)) writeSync(file, chunk);
      });
      const what = `trace of ${opCount} ops${form.what}`;
      const bound = form.boundMs;
      const note = megabytes(statSync(path).size);
      report({ what: `${what}: write`, value: written.wallMs, cpu: written.cpuMs, unit: "ms", runs: 1, bound, note });
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(opCount), path], {
        encoding: "utf8",
      });
      if (child.status !== 0) throw new Error(`reading ${path} failed: ${child.stderr}`);
      const read = JSON.parse(child.stdout);
      if (read.ops !== opCount) throw new Error(`read ${read.ops} ops of ${opCount}`);
      report({ what: `${what}: read`, value: read.wallMs, cpu: read.cpuMs, unit: "ms", runs: 1, bound, note });
      report({ what: `${what}: memory resident in reading it`, value: read.residentMiB, unit: "MiB" });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
