import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deviceSpec } from "@remat/runtime-estimator";
import { sacStats } from "@remat/sac-core";
import { type BuildOptions, build, buildSync } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type DoWorkOptions, doWork } from "../../src/app/do-work.js";
import { WorkThread } from "../../src/app/work-thread.js";
import { TraceDocument } from "../../src/document/trace-document.js";
import type { ViewAnswer, ViewWork } from "../../src/state/work.js";
import { transformer } from "../traces.js";

const folder = mkdtempSync(join(tmpdir(), "remat-thread-"));
const file = join(folder, "work-worker.mjs");
const { trace } = TraceDocument.open({ title: "transformer" }, await transformer(), {
  device: deviceSpec("a100"),
  isDeviceAsked: false,
});

const app = (name: string): string => fileURLToPath(new URL(`../../src/app/${name}`, import.meta.url));

/** For a process or thread that cannot load TypeScript. */
const bundled: BuildOptions = {
  bundle: true,
  platform: "node",
  format: "esm",
  conditions: ["@remat/source"],
  external: ["highs"],
  logLevel: "error",
};

beforeAll(async () => {
  await build({ ...bundled, entryPoints: [app("work-worker.ts")], outfile: file });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Result of some work; the last answer counts. */
async function outcomeOf(act: (work: ViewWork, options: DoWorkOptions) => Promise<void>, work: ViewWork) {
  const answers: ViewAnswer[] = [];
  const { signal } = new AbortController();
  await act(work, { timeMs: 300, signal, answer: (answer) => answers.push(answer) });
  return answers.at(-1)!;
}

it("answers in a thread with what is found beside the app, for the very trace that was asked of", async () => {
  const thread = new WorkThread(pathToFileURL(file));
  const work: ViewWork = { kind: "planFront", trace };
  const found = await outcomeOf((each, options) => thread.do(each, options), work);
  if (found.kind !== "frontFound") throw new Error(found.kind);
  expect(found.reason).toBeUndefined();
  expect(found.trace).toBe(trace);
  for (const plan of found.plans) {
    const held: ViewWork = { kind: "holdPlan", trace, plan };
    expect(await outcomeOf((each, options) => thread.do(each, options), held)).toEqual(await outcomeOf(doWork, held));
  }
});

it("does the work itself where the thread dies, or is not there", async () => {
  const [stats] = sacStats(trace).values();
  const work: ViewWork = { kind: "planModule", stats, budgetBytes: 1e6, restMs: 0 };
  const dying = join(folder, "dying.mjs");
  writeFileSync(dying, "process.exit(3);");
  for (const each of [dying, join(folder, "nowhere.mjs")]) {
    const thread = new WorkThread(pathToFileURL(each));
    const found = await outcomeOf((asked, options) => thread.do(asked, options), work);
    expect(found).toEqual(await outcomeOf(doWork, work));
    expect(found.kind).toMatch(/odulePlanned|moduleNotPlanned/);
  }
});

it("is waited for by a process as long as it has something to do, and no longer", () => {
  const script = join(folder, "waiting.mjs");
  buildSync({ ...bundled, entryPoints: [app("work-thread.ts")], outfile: join(folder, "work-thread.mjs") });
  writeFileSync(join(folder, "slow.mjs"), slowWorker);
  writeFileSync(
    script,
    `import { WorkThread } from "./work-thread.mjs";
const thread = new WorkThread(new URL("./slow.mjs", import.meta.url));
const { signal } = new AbortController();
await thread.do({ kind: "planModule", stats: {}, budgetBytes: 1, restMs: 0 }, { timeMs: 1, signal, answer() {} });
const stop = new AbortController();
void thread.do({ kind: "planModule", stats: {}, budgetBytes: -1, restMs: 0 }, { timeMs: 1, signal: stop.signal, answer() {} });
stop.abort();
console.log("over");`,
  );
  const { stdout, status } = spawnSync(process.execPath, [script], { encoding: "utf8", timeout: 300_000 });
  expect({ stdout, status }).toEqual({ stdout: "over\n", status: 0 });
});

/** Takes a while for a budget, and never comes to an end below zero. */
const slowWorker = `import { parentPort } from "node:worker_threads";
parentPort.on("message", ({ kind, id, work }) => {
  if (kind === "do" && work.budgetBytes > 0) setTimeout(() => parentPort.postMessage({ id }), 200);
});`;
