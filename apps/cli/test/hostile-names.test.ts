import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-names-"));
afterAll(() => rmSync(folder, { recursive: true }));

const hostile = "a\x1b[2J\x9b31m\n\t\u202e\u2066b";
/** Characters that a terminal would interpret, except line ends and tabs of tables. */
const obeyed = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\n\t\r])\p{Cc}/u;

const trace = join(folder, "run.remat.jsonl");
beforeAll(async () => {
  const model = join(folder, "model.json");
  writeFileSync(model, JSON.stringify(twoLayers("softmax")));
  await remat("memory", model, "--trace", trace);
  writeFileSync(trace, readFileSync(trace, "utf8").replaceAll("hidden", JSON.stringify(hostile).slice(1, -1)));
});
const graph = join(folder, "graph.json");
writeFileSync(
  graph,
  JSON.stringify({
    schema: "rematerialization-graph/1",
    name: hostile,
    nodes: ["x", "y", "z"].map((name) => ({ name: name + hostile, bytes: 1000, cost: 10 })),
    edges: [
      [0, 1],
      [1, 2],
    ],
  }),
);

describe.each(["table", "plain", "md", "csv"])("names that a terminal would obey, as %s", (format) => {
  it.each([
    ["estimate", trace, "--ops"],
    ["memory", trace, "--snapshots"],
    ["plan", graph, "--budget", "100%", "--iterations", "1"],
    ["plan", graph, "--budget", "1B", "--iterations", "1"],
  ])("are written out: remat %s %s %s %s", async (...args) => {
    const { stdout, stderr } = await remat(...args, "--format", format);
    expect(stdout).toContain("\\x1b[2J");
    // Line ends are those of tables alone.
    if (format !== "csv") expect(stdout).not.toMatch(/31m$/m);
    expect(`${stdout}${stderr}`).not.toMatch(obeyed);
  });
});
