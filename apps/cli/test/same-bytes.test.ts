import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { chainGraph } from "./fixtures/chain-graph.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { rematIn } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-same-"));
const model = join(folder, "model.json");
const graph = join(folder, "graph.json");
const recorded = fileURLToPath(new URL("../../../examples/llama-pytorch/run-512.json.gz", import.meta.url));
const before = process.cwd();
beforeAll(() => {
  writeFileSync(model, JSON.stringify(twoLayers("softmax")));
  writeFileSync(graph, JSON.stringify(chainGraph));
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const counted = ["--iterations", "200"];

/** Every command that writes files without training, with all files that it writes. */
const commands: readonly (readonly string[])[] = [
  ["plan", model, "--budget", "90%", "-o", "plan.json", "--trace", "trace.remat.jsonl", ...counted],
  ["plan", model, "--budget", "90%", "--trace", "trace.remat.jsonl.gz", "--format", "json", ...counted],
  ["plan", model, "--budget", "90%", "--format", "csv", ...counted],
  ["plan", model, "--method", "greedy", "--module-budget", "60%", "-o", "plan.json"],
  ["plan", graph, "--budget", "100%", "-o", "plan.json", "--format", "json", ...counted],
  ["estimate", model, "--trace", "trace.remat.jsonl", "--format", "json"],
  ["memory", model, "--trace", "trace.remat.jsonl", "--format", "json"],
  ["report", model, "--time", "0", "-o", "report.html"],
  ["check", model, "--baseline", "memory.json", "--update"],
  ["fit", model, "--memory", "8MB", "--batch", "1..4", "--html", "fit.html", "--apply", "apply.js", "--format", "json"],
  ["fit", recorded, "--devices", "a100", "--ways", "stock", "--parquet", "fit.parquet"],
  ["compare", recorded, "--fsdp", "world=8", "--format", "json"],
];

it.each(commands.map((args) => [args.slice(0, 1).concat(args.slice(2)).join(" "), args] as const))(
  "remat %s gives the same bytes on another day and a slower machine",
  async (_name, args) => {
    const runs = [];
    const now = performance.now.bind(performance);
    for (const [i, slowness] of [0.5, 3].entries()) {
      const clock = vi.spyOn(performance, "now").mockImplementation(() => slowness * now());
      vi.useFakeTimers({ toFake: ["Date"], now: new Date(`203${i}-01-01T00:00:00Z`) });
      const own = join(folder, `run-${i}`);
      mkdirSync(own);
      process.chdir(own);
      try {
        const { code, stdout, stderr } = await rematIn({ env: { SOURCE_DATE_EPOCH: "1900000000" } }, ...args);
        expect([code, stderr]).toEqual([0, stderr]);
        const files = readdirSync(own).map((name) => [name, readFileSync(name).toString("base64")]);
        runs.push({ stdout, files });
      } finally {
        process.chdir(folder);
        rmSync(own, { recursive: true });
        clock.mockRestore();
        vi.useRealTimers();
      }
    }
    expect(runs[0].files).toEqual(runs[1].files);
    expect(runs[0].stdout).toBe(runs[1].stdout);
  },
);
