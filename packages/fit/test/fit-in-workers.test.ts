import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deviceSpec } from "@remat/runtime-estimator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
