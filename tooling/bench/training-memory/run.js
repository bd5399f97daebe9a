#!/usr/bin/env node
// How much memory training takes: stock TensorFlow.js, early release and a plan within a bound, on the native CPU backend, bounds
// beside what is measured. Exits with 1 where a bound is missed. Usage: pnpm bench:memory [--models resnet50,…] [--steps n] [--sets n]
// [--plan-seconds n] [--rounds n] [--points n] [--skip table,hook,trade-off] [--write] [--json]. `--write` puts the table into docs/run.md, its first row into the README, and the drawing into docs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { formatTable } from "@remat/text-table";
import { isBusy } from "../src/rows.js";
import { drawTradeOff } from "./draw-trade-off.js";
import { measureHook, measureModel, measureTradeOff } from "./measure-model.js";
import { models } from "./models.js";
import { verdictOfHook, verdictsOf, verdictsOfTradeOff } from "./verdicts.js";

const { values: options } = parseArgs({
  options: {
    models: { type: "string", default: models.map(({ key }) => key).join(",") },
    steps: { type: "string", default: "12" },
    sets: { type: "string", default: "3" },
    "plan-seconds": { type: "string", default: "60" },
    rounds: { type: "string", default: "120" },
    points: { type: "string", default: "10" },
    skip: { type: "string", default: "" },
    write: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const skipped = new Set(options.skip.split(","));
const wanted = models.filter(({ key }) => options.models.split(",").includes(key));
if (wanted.length === 0) {
  console.error(`bench:memory: expected --models to name some of ${models.map(({ key }) => key).join(", ")}.`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "remat-bench-"));
const tell = (text) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text.slice(0, 100)}`);
};
const effort = {
  steps: Number(options.steps),
  sets: Number(options.sets),
  planMs: 1000 * Number(options["plan-seconds"]),
  rounds: Number(options.rounds),
  points: Number(options.points),
  // Times of ops are taken anew, with the machine as it is.
  timesPath: join(folder, "times.json"),
  from: process.env.NATIVE_APP ?? process.cwd(),
  tell,
};

const results = [];
const verdicts = [];
const curves = [];
try {
  for (const model of wanted) {
    const figures = await measureModel(model, effort);
    results.push({ model, figures });
    verdicts.push(...verdictsOf(model, figures, isBusy()));
    if (model.key === "resnet50" && !skipped.has("hook"))
      verdicts.push(verdictOfHook(model, await measureHook(figures, effort), isBusy()));
    if (model.hasTradeOff && !skipped.has("trade-off")) {
      const points = await measureTradeOff(figures, { ...effort, steps: Math.min(4, effort.steps) });
      verdicts.push(...verdictsOfTradeOff(model, points));
      curves.push({ title: model.title, stockBytes: figures.stock.measuredBytes, points });
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
  tell("");
}

const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
const cell = ({ measuredBytes, wallMs }, limit) =>
  `${mb(measuredBytes)}${limit === undefined ? "" : ` (bound ${mb(limit)})`}, ${(wallMs / 1000).toFixed(2)} s`;
const headers = ["Model", "Stock", "Early release", "Planned within a bound", "Recomputed ops"];
const rows = results.map(({ model: { title, bounds }, figures: { stock, early, planned } }) => [
  title,
  cell(stock),
  cell(early, bounds.early(stock.measuredBytes)),
  cell(planned, bounds.planned(stock.measuredBytes)),
  String(planned.recomputedOps),
]);
const machine = `Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model ?? "unknown CPU"}, load ${loadavg()[0].toFixed(1)}`;
const table = formatTable(rows, { headers, format: "markdown" });
if (options.json) console.log(JSON.stringify({ machine, results, verdicts, curves }, null, 2));
else {
  console.log(`Most memory held in a training step over weights and batch, and the median step time\n\n${table}\n`);
  const cells = verdicts.map(({ what, value, bound, isMet }) => [what, value, bound, isMet ? "yes" : "NO"]);
  console.log(formatTable(cells, { headers: ["What", "Measured", "Bound", "Met"] }));
  console.log(
    `\n${machine}.${isBusy() ? " Other work was waiting for the CPU: bounds on time are met by CPU time." : ""}`,
  );
}
if (options.write) {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const marked = /(<!-- bench:memory(?: ResNet-50)? -->\n\n)[\s\S]*?(\n\n<!-- \/bench:memory -->)/;
  const put = (page, text) =>
    writeFileSync(
      join(root, page),
      readFileSync(join(root, page), "utf8").replace(marked, (_, start, end) => `${start}${text}${end}`),
    );
  put("docs/run.md", table);
  const first = rows.filter(([title]) => title.startsWith("ResNet-50"));
  if (first.length > 0) put("README.md", formatTable(first, { headers, format: "markdown" }));
  if (curves.length > 0) writeFileSync(join(root, "docs/memory-against-time.svg"), drawTradeOff(curves));
}
if (verdicts.some(({ isMet }) => !isMet)) process.exitCode = 1;
