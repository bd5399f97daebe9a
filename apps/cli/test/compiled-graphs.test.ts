import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goldenFiles, readGolden } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

interface FxGraph {
  readonly nodes: readonly {
    readonly n: string;
    readonly op: string;
    readonly in: readonly string[];
    readonly out?: readonly { readonly k: number }[];
  }[];
  readonly profile: readonly number[];
}
type Pair = {
  readonly forward: FxGraph;
  readonly backward: FxGraph;
  readonly interactions: { readonly fixed: { readonly bwd_baseline_memory: number } };
};

const folder = mkdtempSync(join(tmpdir(), "remat-graphs-"));
const path = join(folder, "graphs.json");
const nodesOf = ({ nodes }: FxGraph) =>
  nodes.map(({ n, op, in: inputs, out = [] }) => ({ n, op, in: inputs, out: out.map(({ k }) => k) }));
const write = (content: object): void => writeFileSync(path, JSON.stringify({ schema: "fx-graphs/1", ...content }));
const fxGoldens = goldenFiles().filter(({ name }) => name.startsWith("fx_"));

describe("remat memory of a compiled model", () => {
  it.each(fxGoldens.map(({ name }) => name))("tells what torch's memory estimator tells of %s", async (name) => {
    const golden = readGolden(fxGoldens.find((file) => file.name === name)!);
    for (const { forward, backward, interactions } of [golden["graphs"].default, golden["graphs"].min_cut] as Pair[]) {
      write({
        name,
        storages: golden["storages"],
        graphs: [{ forward: nodesOf(forward), backward: nodesOf(backward) }],
      });
      const { code, stdout, stderr } = await remat("memory", path, "--format", "json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const { peakBytes, graphs } = JSON.parse(stdout);
      const expected = [
        Math.max(...forward.profile),
        interactions.fixed.bwd_baseline_memory + Math.max(...backward.profile),
      ];
      expect(graphs.map((graph: { peakBytes: number }) => graph.peakBytes)).toEqual(expected);
      expect(peakBytes).toBeGreaterThanOrEqual(Math.max(...expected));
    }
  });

  const node = (n: string, op: string, inputs: string[], out: number[]) => ({ n, op, in: inputs, out });
  const forward = [
    node("primals_1", "placeholder", [], [0]),
    node("relu", "call_function", ["primals_1"], [1]),
    node("neg", "call_function", ["relu"], [2]),
    node("output", "output", ["neg"], []),
  ];
  const small = {
    name: "small",
    storages: [
      [1024, "cuda:0"],
      [2048, "cuda:0"],
      [4096, "cuda:0"],
      [8, "cpu"],
    ],
    graphs: [{ forward, backward: null }],
  };

  it("shows where the peak is", async () => {
    write(small);
    const { code, stdout } = await remat("memory", path);
    expect(code).toBe(0);
    expect(stdout).toMatch(/forward 0\s+2\s+1 KiB\s+7 KiB\s+neg/);
  });

  it.each([
    ["another schema", { ...small, schema: "fx-graphs/7" }, "expected schema fx-graphs/2"],
    ["no graphs", { ...small, graphs: [] }, "it has no graph"],
    ["an op that fx has not", { ...small, graphs: [{ forward: [node("a", "call", [], [])] }] }, 'unknown op "call"'],
    ["bytes below 0", { ...small, storages: [[-1, "cpu"]] }, "storage 0: expected bytes and a device"],
    ["a storage that is not there", { ...small, storages: [] }, "primals_1"],
    ["a node that is not there", { ...small, graphs: [{ forward: forward.slice(1) }] }, "relu"],
  ])("refuses %s", async (_, content, said) => {
    write(content);
    const { code, stderr } = await remat("memory", path);
    expect({ code, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 1, lines: 1 });
    expect(stderr).toContain(said);
  });

  it("is for remat memory and remat plan alone", async () => {
    write(small);
    for (const command of ["estimate", "report"])
      expect(await remat(command, path)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("only remat memory and remat plan can read"),
      });
  });
});
