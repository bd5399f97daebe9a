import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Phase, TraceBuilder } from "@remat/trace";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Importer, RunImporter } from "../src/importers/importer.js";
import { startEntries } from "../src/terminal/start-entries.js";
import { remat } from "./run.js";

/** A made-up importer, for a list of ops with the bytes that each allocates. */
const opListImporter = vi.hoisted(
  (): RunImporter => ({
    name: "op-list",
    gives: "run",
    example: "run.ops",
    what: "a list of ops, each with the bytes that it makes",
    ending: /\.ops$/,
    offered: /\.ops$/,
    recognises: (_path, { text }) => text.startsWith("# ops\n"),
    read: async (path, { onProgress }) => {
      const text = readFileSync(path, "utf8");
      onProgress?.(text.length);
      return traceOfLines(text.trimEnd().split("\n").slice(1));
    },
  }),
);
type Registry = { readonly importers: readonly Importer[] };
// The line of the registry.
vi.mock("../src/importers/importers.js", async (original) => ({
  importers: [opListImporter, ...(await original<Registry>()).importers],
}));

/** A chain of ops in one module, and backwards through it. */
function traceOfLines(lines: readonly string[]) {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "list" });
  const net = b.module({ fqn: "list", kind: "Net", leaf: false });
  const layer = b.module({ fqn: "list.layer", kind: "Layer", leaf: true });
  const ops = lines.map((line) => line.split(" "));
  const call = b.call(net, -1, true);
  const inner = b.call(layer, call, true);
  b.enterModule(call);
  b.enterModule(inner);
  const stack = b.stackOfCall(inner);
  const made = ops.map(([name, bytes]) => {
    const storage = b.allocate(Number(bytes));
    const tensor = b.tensor({ storage, dtype: "float32", shape: [Number(bytes) / 4] });
    b.op({ name, stack, outputs: [tensor], phase: Phase.forward, runtimeMs: 1 });
    return { name, storage, tensor };
  });
  b.exitModule(inner);
  b.exitModule(call);
  for (const { name, storage, tensor } of made.reverse()) {
    b.op({ name: `${name}Grad`, stack, inputs: [tensor], outputs: [], phase: Phase.backward, runtimeMs: 1 });
    b.free(storage);
  }
  return b.build();
}

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-importer-"));
  path = join(folder, "chain.ops");
  writeFileSync(path, "# ops\nMatMul 4096\nRelu 4096\nSum 4\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

it("is all that has to be written: what a made-up importer reads is taken by every command", async () => {
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await remat(...args, "--format", "json");
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return JSON.parse(stdout);
  };
  expect((await json("memory", path)).peakBytes).toBe(8196);
  expect((await json("estimate", path)).opCount).toBe(6);
  expect((await json("plan", path, "--budget", "100%", "--iterations", "10")).stockPeakBytes).toBe(8196);
  const report = join(folder, "report.html");
  expect((await remat("report", path, "-o", report, "--iterations", "10")).code).toBe(0);
  expect(JSON.parse((await remat("report", "--extract", report)).stdout)).toMatchObject({
    title: "list",
    from: "trace",
  });
  expect(await remat("ui", path, "--once", "--view", "ops")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("MatMul"),
  });
});

it("is in help where it helps, is offered at the start, and is refused what a run cannot be told", async () => {
  expect((await remat("memory", "--help")).stdout).toMatch(/run\.ops +a list of ops, each with the bytes/);
  expect((await remat("run", "--help")).stdout).not.toContain("run.ops");
  expect((await remat("memory", "nowhere")).stderr).toBe("remat: nowhere: no such file. Check the path.\n");
  expect(startEntries(folder)[0]).toMatchObject({ title: "chain.ops", target: path });
  expect((await remat("memory", path, "--batch", "2")).stderr).toContain("--batch cannot change chain");
  expect((await remat("run", path)).stderr).toMatch(/not a model, so it cannot run\. Expected model\.js/);
});
