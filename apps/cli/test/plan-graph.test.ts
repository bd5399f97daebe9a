import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulateSchedule } from "@remat/planner";
import { planningGraph } from "@remat/planner/graph";
import { readPlan } from "@remat/trace";
import { afterAll, describe, expect, it, vi } from "vitest";
import { runCli } from "../src/cli.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-plan-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Node {
  readonly name: string;
  readonly bytes: number;
  readonly cost: number;
}

/** A chain and its backward pass; each backward node reads the gradient and what the forward node of its place made. */
function chain(length: number): { nodes: Node[]; edges: [number, number][] } {
  const nodes: Node[] = [];
  const edges: [number, number][] = [];
  for (let v = 0; v < 2 * length; v++) {
    const isForward = v < length;
    nodes.push({ name: isForward ? `f${v}` : `b${2 * length - 1 - v}`, bytes: 1000, cost: isForward ? 10 + v : 20 });
    if (v > 0) edges.push([v - 1, v]);
    if (v > length) edges.push([2 * length - 1 - v, v]);
  }
  return { nodes, edges };
}

const { nodes, edges } = chain(8);

function write(name: string, content: unknown): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const file = (content: object = {}) => ({
  schema: "rematerialization-graph/1",
  name: "chain",
  nodes,
  edges,
  ...content,
});
const path = write("chain", file());
/** Every node once: the eight forward values and, at the first backward nodes, a gradient and its successor. */
const inOrderPeak = 9000;

/** How many changes a machine tries in the given time is not the same twice. */
const stable = (text: string) => text.replaceAll(folder, ".").replace(/\d+ iterations/, "N iterations");

describe("remat plan GRAPH", () => {
  it("answers with a schedule that another simulation confirms", async () => {
    const { code, stdout, stderr } = await remat(
      "plan",
      path,
      "--budget",
      "60%",
      "--time",
      "500ms",
      "--format",
      "json",
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const answer = JSON.parse(stdout);
    const graph = planningGraph(
      nodes.map(({ name, bytes, cost }, v) => ({
        name,
        cost,
        outputBytes: [bytes],
        inputs: edges.filter(([, to]) => to === v).map(([from]) => [from, 0] as const),
      })),
    );
    const simulated = simulateSchedule(graph, answer.sequence)!;
    expect(answer).toMatchObject({
      feasible: true,
      name: "chain",
      nodeCount: 16,
      edgeCount: edges.length,
      inOrder: { peakBytes: inOrderPeak, cost: 268 },
      budgetBytes: 0.6 * inOrderPeak,
      order: "fixed",
      peakBytes: simulated.peakBytes,
      cost: simulated.cost,
      overhead: (simulated.cost - 268) / 268,
    });
    expect(answer.lowerBound).toBeLessThanOrEqual(simulated.cost);
    expect(answer.gap).toBeCloseTo((simulated.cost - answer.lowerBound) / simulated.cost, 9);
    expect(simulated.peakBytes).toBeLessThanOrEqual(0.6 * inOrderPeak);
    expect(answer).not.toHaveProperty("seconds");
  });

  it.each([
    ["--budget", "0.6"],
    ["--budget", "60%"],
    ["--budget", "5400B"],
    ["--budget", "5.4kB"],
  ])("takes %s %s for the same budget", async (...args) => {
    const { stdout } = await remat("plan", path, ...args, "--iterations", "500", "--format", "json");
    expect(JSON.parse(stdout).budgetBytes).toBeCloseTo(5400, 9);
  });

  it("takes the stated peak in order for the measure of a fraction, and says where it is wrong", async () => {
    const stated = write("stated", file({ inOrder: { peakBytes: 8000, cost: 268 } }));
    const { stdout } = await remat("plan", stated, "--budget", "0.75", "--iterations", "500", "--format", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      budgetBytes: 6000,
      notes: ["the file states a peak of 8000 bytes in the given order, but its nodes need 9000"],
    });
  });

  it("shows a table, Markdown, and a row a step", async () => {
    for (const format of ["table", "md", "csv"]) {
      const { stdout } = await remat("plan", path, "--budget", "0.9", "--format", format);
      expect(stable(stdout)).toMatchSnapshot(format);
    }
  });

  it("finds the smallest budget for an overhead, and a front that never crosses", async () => {
    const run = await remat("plan", path, "--max-overhead", "10%", "--iterations", "10000", "--format", "json");
    const smallest = JSON.parse(run.stdout);
    expect(smallest.overhead).toBeLessThanOrEqual(0.1);
    expect(smallest.peakBytes).toBeLessThan(inOrderPeak);

    const args = ["--pareto", "5", "--iterations", "10000"];
    const { front, recommended } = JSON.parse((await remat("plan", path, ...args, "--format", "json")).stdout);
    expect(front).toHaveLength(5);
    for (let i = 1; i < 5; i++) {
      expect(front[i].peakBytes).toBeLessThanOrEqual(front[i - 1].peakBytes);
      expect(front[i].overhead).toBeGreaterThanOrEqual(front[i - 1].overhead);
    }
    expect(recommended.noCost.overhead).toBe(0);
    expect(recommended.within5Percent.overhead).toBeLessThanOrEqual(0.05);
    const table = await remat("plan", path, ...args);
    expect(table.stdout).toContain("this is the recommended schedule within 5% overhead");
    expect(table.stdout).toContain("Memory against cost");
    expect(table.stdout).toContain("at most 20%");
  });

  it("plans in another order where that is allowed", async () => {
    // Two branches that are joined: taking one after the other holds less than taking them in turns.
    const branches = write("branches", {
      schema: "rematerialization-graph/1",
      nodes: ["a1", "b1", "a2", "b2", "join"].map((name, v) => ({ name, bytes: v < 2 ? 100 : 1, cost: 1 })),
      edges: [
        [0, 2],
        [1, 3],
        [2, 4],
        [3, 4],
      ],
    });
    const run = async (order: string) =>
      remat("plan", branches, "--budget", "102B", "--order", order, "--iterations", "5000", "--format", "json");
    expect(JSON.parse((await run("free")).stdout)).toMatchObject({ overhead: 0, gap: 0, order: "free" });
    expect(JSON.parse((await run("fixed")).stdout).overhead).toBeGreaterThan(0);
  });

  it("writes a plan whole or not at all", async () => {
    const output = join(folder, "plan.json");
    writeFileSync(output, "what was there");
    const { code } = await remat("plan", path, "--budget", "0.6", "--iterations", "5000", "-o", output);
    expect(code).toBe(0);
    const plan = readPlan(readFileSync(output, "utf8"));
    expect(plan.subject).toMatchObject({ kind: "graph", name: "chain" });
    expect(plan.predicted.peakBytes).toBeLessThanOrEqual(plan.origin.budgetBytes);
    expect(readdirSync(folder).filter((name) => name.includes(".part"))).toEqual([]);

    const before = readFileSync(output, "utf8");
    const infeasible = await remat("plan", path, "--budget", "10%", "-o", output, "--time", "200ms");
    expect(infeasible.code).toBe(1);
    expect(readFileSync(output, "utf8")).toBe(before);

    const nowhere = await remat("plan", path, "--budget", "0.9", "-o", join(folder, "no", "plan.json"));
    expect(nowhere).toMatchObject({ code: 1, stdout: "" });
    expect(nowhere.stderr).toContain("Choose another file with -o.");
  });

  it("names what binds where nothing fits, and exits with 1", async () => {
    for (const format of ["table", "json"]) {
      const run = await remat("plan", path, "--budget", "20%", "--time", "300ms", "--format", format);
      expect({ ...run, stdout: stable(run.stdout) }).toMatchSnapshot(format);
    }
  });

  it("tells what was not found from what is proven not to be there, in words and exit code", async () => {
    const { nodes, edges } = chain(60);
    const deep = write("deep", file({ nodes, edges }));
    const plan = (budget: string, iterations: string) =>
      remat("plan", deep, "--budget", budget, "--iterations", iterations);
    const least = JSON.parse(
      (await remat("plan", deep, "--budget", "20%", "--iterations", "20000", "--format", "json")).stdout,
    ) as { feasible: boolean };
    expect(least.feasible).toBe(true);
    const notFound = await plan("20%", "1");
    expect(notFound.code).toBe(3);
    expect(notFound.stdout).toContain("no plan was found within");
    expect(notFound.stdout).toContain("but one may exist");
    const proven = await plan("1%", "1");
    expect(proven.code).toBe(1);
    expect(proven.stdout).not.toContain("not proven");
  });

  it("gives the best found when it is interrupted", async () => {
    let interrupt = () => {};
    let stdout = "";
    let undone = false;
    const began = performance.now();
    const code = runCli(["plan", path, "--budget", "0.5", "--order", "free", "--time", "60s", "--format", "json"], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => {} },
      env: {},
      onInterrupt: (listener) => {
        interrupt = listener;
        setTimeout(() => interrupt(), 300);
        return () => (undone = true);
      },
    });
    expect(await code).toBe(0);
    expect(undone).toBe(true);
    const answer = JSON.parse(stdout);
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(answer.peakBytes).toBeLessThanOrEqual(0.5 * inOrderPeak);
    if (answer.gap > 0) expect(answer.notes).toEqual(["interrupted: this is the best schedule found so far"]);
  });

  it("says so when it is interrupted before anything was found", async () => {
    let [stdout, stderr] = ["", ""];
    // The search has not begun.
    const code = await runCli(["plan", path, "--budget", "3001B", "--time", "60s"], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      env: {},
      onInterrupt: (listener) => {
        listener();
        return () => {};
      },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^remat: chain: interrupted before a plan within 2.931 KiB was found\. .*\n$/);
  });

  it("shows how far it is where stderr is a terminal", async () => {
    let stderr = "";
    await runCli(["plan", path, "--budget", "0.4", "--order", "free", "--time", "500ms"], {
      stdout: { write: () => {} },
      stderr: { write: (text) => (stderr += text), isTTY: true },
      env: {},
    });
    expect(stderr).toContain("planning chain");
    expect(stderr.endsWith("\r\u001b[2K")).toBe(true);
  });

  it("gives the same schedule for the same seed and number of changes", async () => {
    const args = ["--budget", "0.55", "--iterations", "20000", "--seed", "7", "--format", "csv"];
    expect((await remat("plan", path, ...args)).stdout).toBe((await remat("plan", path, ...args)).stdout);
  });
});

describe("remat plan refuses", () => {
  const withNode = (node: object) => file({ nodes: nodes.map((one, v) => (v === 3 ? { ...one, ...node } : one)) });
  it.each([
    ["a cycle", file({ edges: [...edges, [9, 2]] }), "the graph has a cycle: "],
    [
      "nodes in the wrong order",
      file({ nodes: nodes.slice(0, 3), edges: [[2, 1]] }),
      "not in topological order: 'f1' (1)",
    ],
    ["negative bytes", withNode({ bytes: -5 }), "node 3 ('f3'): bytes must be a number of at least 0; found -5"],
    ["a negative cost", withNode({ cost: -1 }), "node 3 ('f3'): cost must be a number of at least 0; found -1"],
    ["bytes as text", withNode({ bytes: "big" }), "node 3 ('f3'): bytes must be"],
    ["an edge given twice", file({ edges: [...edges, edges[0]] }), "edge [0, 1] ('f0' to 'f1') is given twice"],
    ["an unknown node", file({ edges: [...edges, [2, 99]] }), "edge [2,99]: unknown node. Nodes are 0 to 15"],
    ["another version", file({ schema: "rematerialization-graph/9" }), "expected an object with schema"],
    ["no edges", { schema: "rematerialization-graph/1", nodes }, "expected arrays 'nodes' and 'edges'"],
    ["no nodes", file({ nodes: [], edges: [] }), "the graph has no nodes"],
    ["no bytes", file({ nodes: nodes.map((node) => ({ ...node, bytes: 0 })) }), "every node has 0 bytes"],
    ["NaN bytes, as Python writes them", JSON.stringify(withNode({ bytes: 7.5 })).replace("7.5", "NaN"), 'found "NaN"'],
    ["half a file", JSON.stringify(file()).slice(0, 300), "not JSON"],
  ])("%s, naming the file and the node", async (name, content, message) => {
    const bad = write(name.replaceAll(/\W/g, "-"), content);
    const run = await remat("plan", bad, "--budget", "0.9");
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain(`remat: ${bad}: `);
    expect(run.stderr).toContain(message);
    expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it.each([
    [["--budget", "0"], 'found "0", which is not more than 0'],
    [["--budget", "0%"], 'found "0%", which is not more than 0'],
    [["--budget=-1"], "--budget: expected a budget as a share"],
    [["--budget", "NaN"], 'found "NaN"'],
    [["--budget", "much"], 'found "much"'],
    [["--budget", "3GBit"], 'found "3GBit"'],
    [["--budget", "150%"], "more than 100%"],
    [["--budget", "2000"], "Do you mean 2000B or 2000%?"],
    [["--budget"], "argument missing"],
    [[], "no budget was given"],
    [["--max-overhead", "lots"], "--max-overhead expects a percentage"],
    [["--max-overhead", "20"], "Do you mean 20%?"],
    [["--budget", "0.9", "--time", "0s"], "--time expects a time above 0"],
    [["--budget", "0.9", "--time", "soon"], '--time expects a time above 0, such as 5s, 500ms or 2min; found "soon"'],
    [["--budget", "0.9", "--iterations", "0"], "--iterations expects a whole number of at least 1"],
    [["--budget", "0.9", "--seed", "x"], "--seed expects a whole number"],
    [["--budget", "0.9", "--workers", "none"], "--workers expects a whole number of at least 1"],
    [["--budget", "0.9", "--order", "any"], "--order expects one of fixed, free"],
    [["--budget", "0.9", "--method", "magic"], "--method expects one of schedule, modules"],
    [["--module-budget", "0.9", "--method", "dp"], "the graph chain has no modules"],
    [["--budget", "0.9", "--pareto", "1"], "--pareto expects a whole number of at least 2"],
    [["--budget", "0.9", "--batch", "8"], "--batch is for models"],
    [["--budget", "0.9", "--optimizer", "adam"], "--optimizer is for models"],
    [["--budget", "0.9", "--world-size", "2"], "work with --method modules"],
  ])("the command line %j", async (args, message) => {
    const run = await remat("plan", path, ...args);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain(message);
    expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it("a graph where a model is expected", async () => {
    const run = await remat("estimate", path);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain("only remat plan can read");
  });

  it("a plan that costs more than is allowed", async () => {
    const run = await remat("plan", path, "--budget", "0.5", "--max-overhead", "0.1%", "--iterations", "5000");
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("--max-overhead allows 0.1%");
  });
});

describe("the time that is given for a graph", () => {
  const { nodes: many, edges: links } = chain(1500);
  const large = write("large", { schema: "rematerialization-graph/1", name: "large", nodes: many, edges: links });

  /** Plans with a clock that runs ahead while the graph is read. */
  async function plan(readingMs: number, ...more: string[]): Promise<{ code: number; iterations: number }> {
    const now = performance.now.bind(performance);
    let ahead = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + ahead);
    const original = JSON.parse;
    const reading = vi.spyOn(JSON, "parse").mockImplementation((text, reviver) => {
      if (text.includes('"large"')) ahead += readingMs;
      return original(text, reviver);
    });
    try {
      const { code, stdout, stderr } = await remat("plan", large, "--budget", "50%", "--format", "json", ...more);
      expect(stderr).toBe("");
      return { code, iterations: JSON.parse(stdout).iterations };
    } finally {
      reading.mockRestore();
      clock.mockRestore();
    }
  }

  it("is that for reading and writing it, too: where nothing is left, the answer is what there is before a search", async () => {
    expect(await plan(60_000, "--time", "50s")).toEqual({ code: 0, iterations: 0 });
    // 20 s of reading are to be followed by 30 s of writing.
    expect(await plan(20_000, "--time", "50s", "-o", join(folder, "large-plan.json"))).toEqual({
      code: 0,
      iterations: 0,
    });
  });
});
