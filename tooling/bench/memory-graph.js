// Profiles a trace of a million ops, and the graphs of the golden files, next to torch's own estimator if
// REMAT_TORCH_PYTHON names a Python that has torch.
// Usage: node tooling/bench/memory-graph.js [ops]
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { buildGraph, buildMemoryProfile, graphOfTrace } from "@remat/memory/graph";
import { Category, TraceBuilder } from "@remat/trace";
import { timeWarm } from "./src/measure.js";
import { report } from "./src/report.js";

const opCount = Number(process.argv[2] ?? 1_000_000);

/** A chain with skips: each op reads the last tensor and one of about twenty before it; a tidy frees all at the end. */
function largeTrace() {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const make = () =>
    b.tensor({ storage: b.allocate(4096, "cpu", Category.activation), dtype: "float32", shape: [1024] });
  let last = make();
  for (let i = 0; i < opCount; i++) {
    const output = make();
    b.op({ name: "Add", inputs: [last, Math.max(0, last - ((i * 7) % 23))], outputs: [output] });
    last = output;
  }
  for (let s = 1; s < b.storageCount - 1; s++) b.free(s);
  return b.build();
}

function bestMs(work, runs) {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const trace = largeTrace();
const timeGraph = await timeWarm(() => graphOfTrace(trace), { warmups: 0, runs: 3 });
const graph = timeGraph.result;
const timeProfile = await timeWarm(() => buildMemoryProfile(graph), { warmups: 0, runs: 3 });
const figure = (what, { wallMs, cpuMs, runs }) => ({
  what: `${what}, ${opCount} nodes`,
  value: wallMs,
  cpu: cpuMs,
  unit: "ms",
  runs,
});
report({ ...figure("graph of a trace", timeGraph), bound: 250 });
report({ ...figure("memory profile", timeProfile), bound: 1000 });

/**
 * The graphs of the golden files, and the chain of `largeTrace` in their format, with a length that torch can handle.
 */
function graphsForBoth() {
  const folder = process.env.REMAT_GOLDENS ?? fileURLToPath(new URL("../testkit/goldens", import.meta.url));
  const graphs = readdirSync(folder)
    .filter((file) => /^fx_.*\.json(\.gz)?$/.test(file))
    .flatMap((file) => {
      const bytes = readFileSync(join(folder, file));
      const golden = JSON.parse(file.endsWith(".gz") ? gunzipSync(bytes) : bytes);
      return ["forward", "backward"].map((part) => ({
        name: `${golden.case} ${part}`,
        nodes: golden.graphs.default[part].nodes,
        storages: golden.storages,
      }));
    });
  const nodes = [{ n: "n0", op: "placeholder", in: [], out: [{ k: 0 }] }];
  for (let i = 1; i < 20_000; i++) {
    const other = Math.max(0, i - 1 - ((i * 7) % 23));
    nodes.push({ n: `n${i}`, op: "call_function", in: [`n${i - 1}`, `n${other}`], out: [{ k: i }] });
  }
  graphs.push({ name: "chain of 20000", nodes, storages: nodes.map(() => [4096, "cuda:0"]) });
  return graphs;
}

const python = process.env.REMAT_TORCH_PYTHON;
if (python !== undefined) {
  const graphs = graphsForBoth();
  const script = fileURLToPath(new URL("torch_memory_estimator.py", import.meta.url));
  const run = spawnSync(python, [script], { input: JSON.stringify(graphs), maxBuffer: 1e9, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`torch's estimator failed: ${run.stderr}`);
  const theirs = JSON.parse(run.stdout);
  graphs.forEach(({ name, nodes, storages }, i) => {
    const built = buildGraph({
      storages: storages.map(([bytes, device]) => ({ bytes, device })),
      nodes: nodes.map(({ n, op, in: inputs, out = [] }) => ({
        name: n,
        kind: op === "placeholder" ? "placeholder" : op === "output" ? "output" : "compute",
        inputs,
        outputs: out.map(({ k }) => k),
      })),
    });
    const everything = { isReleasable: () => true, deviceFilter: () => true };
    const oursProfile = bestMs(() => buildMemoryProfile(built, everything), 20);
    const of = `${name}, ${nodes.length} nodes`;
    report({ what: `memory profile of ${of}`, value: oursProfile, unit: "ms", runs: 20, theirs: theirs[i].profileMs });
  });
}
