import { getEventListeners } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { deviceSpec } from "@remat/runtime-estimator";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { FitAnswer, FitUnit } from "../src/index.js";
import { fitInWorkers, UnitCache } from "../src/node/index.js";

const folder = mkdtempSync(join(tmpdir(), "remat-fit-"));
const worker = join(folder, "worker.mjs");
/** Answers with the seed of the unit, or does as the seed says. */
beforeAll(() =>
  writeFileSync(
    worker,
    `import { parentPort, workerData } from "node:worker_threads";
    import { existsSync, writeFileSync } from "node:fs";
    parentPort.on("message", ({ id, unit }) => {
      const once = workerData + "/died-" + unit.seed;
      if (unit.seed === 13 && !existsSync(once)) { writeFileSync(once, ""); process.exit(1); }
      if (unit.seed === 66) process.exit(1);
      if (unit.seed === 99) return;
      if (unit.seed === 77) return parentPort.postMessage({ id, failure: { message: "a wrong model", code: "MODEL_EXPORT" } });
      parentPort.postMessage({ id, batch: 1 });
      parentPort.postMessage({ id, answer: { kind: "refused", configuration: unit.configuration, reason: String(unit.seed) } });
    });`,
  ),
);
afterAll(() => rmSync(folder, { recursive: true }));

const unexpected = (why: string): never => {
  throw new Error(why);
};

const unit = (seed: number): FitUnit => ({
  configuration: { device: "a100", precision: "f32", way: "stock", ranks: 1 },
  spec: deviceSpec("a100"),
  memoryBytes: 1,
  batches: [1],
  maxOverhead: 0,
  objective: "throughput",
  iterations: 1,
  seed,
  morePlans: 0,
  efforts: [],
});
const answerOf = ({ configuration, seed }: FitUnit): FitAnswer => ({
  kind: "refused",
  configuration,
  reason: String(seed),
});
const options = {
  file: pathToFileURL(worker),
  workerData: folder,
  fitHere: async (each: FitUnit) => answerOf(each),
};

describe("units in worker threads", () => {
  it.each([1, 2, 3])(
    "are answered in their order by %i threads, one that dies of one notwithstanding",
    async (workers) => {
      rmSync(join(folder, "died-13"), { force: true });
      const units = [5, 4, 13, 3, 2, 1].map(unit);
      expect(await fitInWorkers(units, { ...options, workers })).toEqual(units.map(answerOf));
    },
  );

  it("that the cache knows are told as answered, and not asked for", async () => {
    const cache = new UnitCache(join(folder, "known"), "key", unexpected);
    const units = [1, 2, 3].map(unit);
    cache.put(units[1], answerOf(units[1]));
    const answered: (readonly [number, FitAnswer])[] = [];
    const asked = new Set<number>();
    const counts = new Set<number>();
    const found = await fitInWorkers(units, {
      ...options,
      workers: 1,
      cache,
      onAnswer: (answer, index) => answered.push([index, answer]),
      onProgress: ({ unit: { seed }, done }) => (asked.add(seed), counts.add(done)),
    });
    expect(found).toEqual(units.map(answerOf));
    expect(answered).toEqual([1, 0, 2].map((i) => [i, answerOf(units[i])]));
    expect([...asked]).toEqual([1, 3]);
    expect([...counts]).toEqual([1, 2]);
    expect(cache.get(units[2])).toEqual(answerOf(units[2]));
  });

  it("are answered here where there is no file for threads", async () => {
    const units = [1, 2].map(unit);
    const file = pathToFileURL(join(folder, "none.mjs"));
    expect(await fitInWorkers(units, { ...options, file })).toEqual(units.map(answerOf));
  });

  it("end where every thread dies of one, and where one is refused", async () => {
    await expect(fitInWorkers([unit(66)], options)).rejects.toMatchObject({ code: "FIT_WORKER" });
    await expect(fitInWorkers([unit(77)], options)).rejects.toMatchObject({
      code: "MODEL_EXPORT",
      message: "a wrong model",
    });
  });

  it("are left where the search is ended, and those that were answered are kept", async () => {
    const abort = new AbortController();
    const cache = new UnitCache(join(folder, "ended"), "key", unexpected);
    const units = [1, 99].map(unit);
    const onProgress = ({ unit: { seed } }: { unit: FitUnit }): void => {
      if (seed === 99) abort.abort();
    };
    const found = await fitInWorkers(units, { ...options, workers: 1, cache, signal: abort.signal, onProgress });
    expect(found).toEqual([answerOf(units[0]), undefined]);
    const resumed = await fitInWorkers([units[0]], {
      ...options,
      file: new URL("file:///none"),
      cache,
      fitHere: () => Promise.reject(new Error("asked again")),
    });
    expect(resumed).toEqual([answerOf(units[0])]);
  });
});

describe("when the search is over", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ["found", [1, 2, 3], undefined],
    ["refused", [1, 77], "MODEL_EXPORT"],
    ["dead", [66], "FIT_WORKER"],
  ] as const)("of units that are %s, no thread runs and nobody listens to the signal", async (_, seeds, code) => {
    const started: number[] = [];
    const ended: number[] = [];
    const terminate = Worker.prototype.terminate;
    vi.spyOn(Worker.prototype, "terminate").mockImplementation(async function (this: Worker) {
      started.push(this.threadId);
      const ending = await terminate.call(this);
      ended.push(this.threadId);
      return ending;
    });
    const { signal } = new AbortController();
    let listeners = 0;
    const onProgress = () => {
      listeners = Math.max(listeners, getEventListeners(signal, "abort").length);
    };
    const running = fitInWorkers(seeds.map(unit), { ...options, workers: 2, signal, onProgress });
    if (code === undefined) expect(await running).toEqual(seeds.map((seed) => answerOf(unit(seed))));
    else await expect(running).rejects.toMatchObject({ code });
    expect(listeners).toBe(1);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    // One that has died needs no end.
    expect(started).toHaveLength(code === "FIT_WORKER" ? 0 : 2);
    // Node's thread id of an ended thread is -1.
    expect(ended).toEqual(started.map(() => -1));
  });

  it("that was over before it began, nobody is asked", async () => {
    const signal = AbortSignal.abort();
    const units = [1, 2].map(unit);
    const fitHere = vi.fn(options.fitHere);
    expect(await fitInWorkers(units, { ...options, signal })).toEqual([undefined, undefined]);
    const nowhere = { ...options, file: pathToFileURL(join(folder, "none.mjs")), fitHere, signal };
    expect(await fitInWorkers(units, nowhere)).toEqual([undefined, undefined]);
    expect(fitHere).not.toHaveBeenCalled();
  });

  it("in the midst of units that are answered here, the next is not begun", async () => {
    const abort = new AbortController();
    const fitHere = vi.fn(async (each: FitUnit) => (abort.abort(), answerOf(each)));
    const file = pathToFileURL(join(folder, "none.mjs"));
    const found = await fitInWorkers([1, 2].map(unit), { ...options, file, fitHere, signal: abort.signal });
    expect(found).toEqual([answerOf(unit(1)), undefined]);
    expect(fitHere).toHaveBeenCalledTimes(1);
  });
});

describe("a thread", () => {
  it("goes on with the optimizer it has, then with the way, and tells how far all have come", async () => {
    const of = (seed: number, optimizer: string, way: "stock" | "recompute"): FitUnit => {
      const one = unit(seed);
      return { ...one, configuration: { ...one.configuration, way, optimizer } };
    };
    const units = [
      of(1, "adam", "stock"),
      of(2, "sgd", "stock"),
      of(3, "adam", "recompute"),
      of(4, "sgd", "recompute"),
      of(5, "adam", "stock"),
    ];
    const told: (readonly [number, number])[] = [];
    const answered: number[] = [];
    await fitInWorkers(units, {
      ...options,
      workers: 1,
      onProgress: ({ unit: { seed }, batch, done, units: count }) => {
        expect(count).toBe(5);
        if (batch === undefined) told.push([seed, done]);
        else expect(batch).toBe(1);
      },
      onAnswer: (_answer, index) => answered.push(index),
    });
    // The first; of its optimizer first the one of its way, too; of the other one the way that came last.
    expect(told.map(([seed]) => seed)).toEqual([1, 5, 3, 4, 2]);
    expect(told.map(([, done]) => done)).toEqual([0, 1, 2, 3, 4]);
    expect(answered).toEqual([0, 4, 2, 3, 1]);
  });
});

describe("the cache", () => {
  it("tells once, and in a word, that nothing can be kept", () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const told: string[] = [];
    const cache = new UnitCache(join(file, "cache"), "content", (why) => told.push(why));
    for (const seed of [1, 2]) cache.put(unit(seed), answerOf(unit(seed)));
    expect(told).toEqual(["ENOTDIR"]);
    expect(cache.get(unit(1))).toBeUndefined();
  });

  it("knows a unit by all of it and by the content behind it, and takes no damaged file", () => {
    const at = join(folder, "cache");
    const cache = new UnitCache(at, "content", unexpected);
    cache.put(unit(1), answerOf(unit(1)));
    expect(cache.get(unit(1))).toEqual(answerOf(unit(1)));
    expect(cache.get(unit(2))).toBeUndefined();
    expect(cache.get({ ...unit(1), memoryBytes: 2 })).toBeUndefined();
    expect(new UnitCache(at, "other content", unexpected).get(unit(1))).toBeUndefined();
    for (const file of readdirSync(at)) writeFileSync(join(at, file), "{");
    expect(cache.get(unit(1))).toBeUndefined();
  });
});
