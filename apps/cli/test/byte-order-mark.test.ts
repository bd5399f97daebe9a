import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-mark-"));
afterAll(() => rmSync(folder, { recursive: true }));

const graph = {
  schema: "rematerialization-graph/1",
  name: "three",
  nodes: ["x", "y", "z"].map((name) => ({ name, bytes: 1000, cost: 10 })),
  edges: [
    [0, 1],
    [1, 2],
  ],
};

it.each<[string, unknown, string[]]>([
  ["a model", twoLayers("softmax"), ["memory"]],
  ["a graph", graph, ["plan", "--budget", "100%", "--iterations", "1", "--format", "csv"]],
])("%s may begin with a byte order mark", async (name, content, [command, ...options]) => {
  const path = join(folder, `${name.slice(2)}.json`);
  writeFileSync(path, JSON.stringify(content));
  const plain = await remat(command as string, path, ...options);
  writeFileSync(path, `\uFEFF${readFileSync(path, "utf8")}`);
  const marked = await remat(command as string, path, ...options);
  expect(marked.stdout).toBe(plain.stdout);
  expect(plain.code).toBe(0);
});
