import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { hasRedis, RedisServer } from "@remat/testkit";
import { RematError } from "@remat/trace";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fitInFleet, serveFleet } from "../../src/bullmq/index.js";
import { type FitAnswer, fitUnitBatch } from "../../src/index.js";
import { sweepKey, sweepSteps, sweepTable, sweepUnits } from "./sweep.js";

const here = fileURLToPath(new URL(".", import.meta.url));
/** Below the package, so that what is not bundled is found from there. */
const bundles = fileURLToPath(new URL("../../node_modules/.remat-test/", import.meta.url));
mkdirSync(bundles, { recursive: true });
const folder = mkdtempSync(join(bundles, "fleet-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Expiry of a lock, after which a killed worker is noticed. */
const lockMs = 600;
const files = { runs: fileURLToPath(new URL("../../../memory/test/fixtures/sized-runs.json.gz", import.meta.url)) };
const contentKey = sweepKey(files);
const steps = sweepSteps(files);
const units = sweepUnits(steps);

describe.runIf(hasRedis())("a fleet", () => {
  let redis: RedisServer;
  const workers = new Set<ChildProcess>();
  let delivered = 0;

  beforeAll(async () => {
    redis = await RedisServer.start(folder);
    await build({
      entryPoints: ["fleet-process.ts", "fleet-thread.ts"].map((name) => join(here, name)),
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["@remat/source"],
      external: ["bullmq", "ioredis", "highs", "sql.js", "hyparquet-writer", "vitest"],
      logLevel: "error",
    });
  });
  afterAll(async () => {
    for (const worker of workers) worker.kill("SIGKILL");
    await redis.kill();
  });

  function startWorker(): void {
    const worker = spawn(
      process.execPath,
      [join(folder, "fleet-process.mjs"), redis.url, `${lockMs}`, join(folder, "fleet-thread.mjs")],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    worker.stdout.on("data", (text: Buffer) => {
      delivered += text.toString().split("\n").length - 1;
    });
    workers.add(worker);
    worker.once("exit", () => workers.delete(worker));
  }

  const search = (onDone?: (done: number) => void): Promise<readonly (FitAnswer | undefined)[]> =>
    fitInFleet(units, {
      url: redis.url,
      files,
      contentKey,
      onProgress: ({ done }) => onDone?.(done),
    });

  it("gives the table of one machine, whatever is killed and however often it is asked", async () => {
    expect(units).toHaveLength(200);
    const alone: FitAnswer[] = [];
    for (const unit of units) alone.push(await fitUnitBatch(unit, steps));
    const kinds = new Set(alone.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(["fits", "not-fitting", "refused"]);

    for (let i = 0; i < 3; i++) startWorker();
    let killed = 0;
    let stopped = 0;
    let turns = 0;
    const anyWorker = (): ChildProcess => [...workers][turns++ % workers.size];
    /** Actions to take after a number of units are answered. */
    const blows = new Map<number, () => Promise<void>>();
    for (const done of [10, 30, 50, 70, 110, 150, 190])
      blows.set(done, async () => {
        killed++;
        anyWorker().kill("SIGKILL");
        startWorker();
      });
    // It comes to itself when its unit is another's, and answers that as well.
    for (const done of [20, 90])
      blows.set(done, async () => {
        stopped++;
        const worker = anyWorker();
        worker.kill("SIGSTOP");
        await wait(3 * lockMs);
        worker.kill("SIGCONT");
      });
    // The queue comes back with what it had, then with nothing.
    for (const [done, isEmpty] of [
      [60, false],
      [130, true],
    ] as const)
      blows.set(done, async () => {
        await redis.kill();
        if (isEmpty) rmSync(join(folder, "appendonlydir"), { recursive: true, force: true });
        await redis.start();
      });
    const falling: Promise<void>[] = [];
    const strike = (done: number): void => {
      for (const [at, blow] of blows) {
        if (done < at) continue;
        blows.delete(at);
        falling.push(blow());
      }
    };
    const [first, second] = await Promise.all([search(strike), search()]);
    await Promise.all(falling);
    expect({ killed, stopped, left: blows.size }).toEqual({ killed: 7, stopped: 2, left: 0 });
    expect(sweepTable(units, first)).toBe(sweepTable(units, alone));
    expect(sweepTable(units, second)).toBe(sweepTable(units, alone));
    // Two searches, and each unit was answered about once: what was lost, again.
    await expect.poll(() => delivered).toBeGreaterThanOrEqual(units.length);
    expect(delivered).toBeLessThan(2 * units.length);
  });

  it("takes back what nobody has begun where the search is ended, and gives what was found", async () => {
    redis.ask("flushall");
    for (const worker of workers) worker.kill("SIGKILL");
    const abort = new AbortController();
    const searching = fitInFleet(units, { url: redis.url, files, contentKey, signal: abort.signal });
    await expect.poll(() => redis.ask("llen", "bull:remat-fit:wait")).toBe("200");
    abort.abort();
    expect(await searching).toEqual(units.map(() => undefined));
    expect(redis.ask("llen", "bull:remat-fit:wait")).toBe("0");
  });

  it("refuses units of other files, and tells what units fail of as they would here", async () => {
    redis.ask("flushall");
    const failing = await serveFleet(redis.url, {
      contentKey: () => contentKey,
      answerer: () => ({
        answer: () => Promise.reject(new RematError("MODEL_EXPORT", "a wrong model")),
        stop: async () => undefined,
      }),
    });
    const given = { url: redis.url, files };
    await expect(fitInFleet(units, { ...given, contentKey })).rejects.toMatchObject({
      code: "MODEL_EXPORT",
      message: "a wrong model",
    });
    await expect(fitInFleet(units, { ...given, contentKey: "other" })).rejects.toMatchObject({
      code: "FIT_FLEET",
      message: expect.stringContaining("has different files"),
    });
    await failing.close();
    // A failed unit is requested again, from the workers available now.
    const [unit] = units;
    const answer = await fitUnitBatch(unit, steps);
    const working = await serveFleet(redis.url, {
      contentKey: () => contentKey,
      answerer: () => ({ answer: async () => answer, stop: async () => undefined }),
    });
    expect(await fitInFleet([unit, unit], { ...given, contentKey })).toEqual([answer, answer]);
    await working.close();
  });

  it("rejects answers that cannot be one and asks again, and ends where the fleet answers nothing else", async () => {
    redis.ask("flushall");
    const [unit] = units;
    const answer = await fitUnitBatch(unit, steps);
    const wrong: readonly unknown[] = [{ kind: "fits", row: {} }, null, { ...answer, configuration: {}, row: {} }];
    let asked = 0;
    const lying = (answers: readonly unknown[]) =>
      serveFleet(redis.url, {
        contentKey: () => contentKey,
        answerer: () => ({
          answer: async () => answers[Math.min(asked++, answers.length - 1)] as FitAnswer,
          stop: async () => undefined,
        }),
      });
    const told: string[] = [];
    const given = { url: redis.url, files, contentKey, onRejected: (why: string) => void told.push(why) };
    const once = await lying([...wrong, answer]);
    expect(await fitInFleet([unit], given)).toEqual([answer]);
    expect(told).toEqual(wrong.map(() => expect.stringMatching(/^an answer: /)));
    await once.close();
    redis.ask("flushall");
    asked = 0;
    const always = await lying(wrong.slice(0, 1));
    await expect(fitInFleet([unit], given)).rejects.toMatchObject({
      code: "FIT_FLEET",
      message: expect.stringMatching(/returned 4 wrong answers to one task of the search: .*field 'row\./),
    });
    await always.close();
  });

  it("refuses jobs that are none, and ends units that never end, while the worker goes on", async () => {
    redis.ask("flushall");
    const [unit] = units;
    const answer = await fitUnitBatch(unit, steps);
    let stopped = 0;
    let isStuck = true;
    const worker = await serveFleet(redis.url, {
      contentKey: () => contentKey,
      unitMs: 300,
      answerer: () => ({
        answer: () => (isStuck ? new Promise<FitAnswer>(() => undefined) : Promise.resolve(answer)),
        stop: async () => void stopped++,
      }),
    });
    const given = { url: redis.url, files, contentKey };
    await expect(fitInFleet([{ ...unit, module: "/tmp/x.mjs" } as never], given)).rejects.toMatchObject({
      code: "FIT_FLEET",
      message: expect.stringContaining("field 'unit.module'"),
    });
    await expect(fitInFleet([unit], given)).rejects.toMatchObject({
      code: "FIT_FLEET",
      message: expect.stringContaining("took longer than 0.3 s"),
    });
    expect(stopped).toBe(1);
    isStuck = false;
    expect(await fitInFleet([unit], given)).toEqual([answer]);
    await worker.close();
  });
});

it.each(["queue:6379", "http://queue", "redis://", "redis://host/name", "redis://u:secret@host/x"])(
  "%s is no address of a server",
  async (url) => {
    const asked = fitInFleet(units, { url, files, contentKey });
    await expect(asked).rejects.toMatchObject({ code: "FIT_FLEET" });
    await expect(asked).rejects.not.toThrow(/secret/);
  },
);
