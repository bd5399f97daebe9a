import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { heldPeak } from "@remat/memory";
import type { Trace } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PlanningRequest, planWithin } from "../src/planning/plan-within.js";
import type * as planningThread from "../src/planning-thread.js";
import { exampleNamed, gradientsOnly } from "./training.js";

const source = (name: string): string => fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url));
const folder = realpathSync(mkdtempSync(join(tmpdir(), "remat-planning-")));
let planBeside: typeof planningThread.planBeside;
let trace: Trace;

/** Threads run JavaScript only: bundled as it is published. */
beforeAll(async () => {
  await tf.setBackend("cpu");
  trace = await traceFakeStep(await exampleNamed("transformer"), { size: "tiny", ...gradientsOnly });
  await build({
    entryPoints: [
      { in: source("planning-thread"), out: "planning-thread" },
      { in: source("planning/planning-worker"), out: "planning/planning-worker" },
    ],
    outdir: folder,
    outExtension: { ".js": ".js" },
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["@remat/source"],
    external: ["highs", "@tensorflow/*"],
  });
  const file = pathToFileURL(join(folder, "planning-thread.js")).href;
  ({ planBeside } = (await import(/* @vite-ignore */ file)) as typeof planningThread);
});
afterAll(() => rmSync(folder, { recursive: true }));

const ample = 60_000;

/** Nothing is held but what the step finds, as in a process with this model alone. */
function requestOf(share: number, planningMs = ample): PlanningRequest {
  const { peakBytes } = heldPeak(trace);
  return { trace: structuredClone({ ...trace }), heldBytes: 0, budgetBytes: Math.floor(share * peakBytes), planningMs };
}

/** A plan without recomputation is found immediately, so the clock has no influence. */
test("a thread finds the plan that this one finds, and columns are handed over to it", async () => {
  const request = requestOf(1);
  const here = await planWithin(requestOf(1));
  const { planned } = planBeside(request);
  expect(request.trace.ops.name).toHaveLength(0);
  expect(here).toHaveProperty("script");
  expect(await planned).toEqual(here);
});

test("a plan that would recompute more than what goes on anyway is none", async () => {
  const request = requestOf(0.2, 3000);
  expect(await planBeside({ ...request, trace: structuredClone(request.trace) }).planned).toHaveProperty("script");
  expect(await planBeside({ ...request, recomputedAnyway: [] }).planned).not.toHaveProperty("script");
});

test("a search that is ended while planning finds nothing, and its promise settles", async () => {
  const planning = planBeside(requestOf(0.3));
  planning.end();
  expect(await planning.planned).toBeUndefined();
});

test("no thread is left when a plan is made", async () => {
  const threads = () => process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length;
  const before = threads();
  await planBeside(requestOf(1)).planned;
  expect(threads()).toBe(before);
});
