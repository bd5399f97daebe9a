import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deviceSpec } from "@remat/runtime-estimator";
import { build } from "esbuild";
import { parquetReadObjects } from "hyparquet";
import loadSqlite from "sql.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FitSummary, fitUnitBatch, stepsOfRuns, summarizeFit, unitsOf } from "../src/index.js";
import { checkFitStore, exportFitStore, fitParquet, readFitStore, storeFit } from "../src/node/index.js";
import { sizedRuns } from "./steps.js";

const folder = mkdtempSync(join(tmpdir(), "remat-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let taken = 0;
/** A folder that is not there yet. */
const newStore = (): string => join(folder, `store-${taken++}`);

let summary: FitSummary;
beforeAll(async () => {
  const steps = stepsOfRuns(sizedRuns("convolutions_batch").slice(0, 2));
  const units = unitsOf(
    {
      devices: [deviceSpec("a100")],
      memoryBytes: 400_000,
      ways: ["stock", "recompute", "early-release"],
      ranks: [1, 2],
    },
    steps,
  );
  const answers = [];
  for (const unit of units) answers.push(await fitUnitBatch(unit, steps));
  summary = summarizeFit(units, answers, { model: "convolutions", prices: { a100: 2 } });
});

/** Asks a SQLite file as any other program would. */
async function ask(path: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const { Database } = await loadSqlite();
  const db = new Database(readFileSync(path));
  const [found] = db.exec(sql);
  db.close();
  return found?.values ?? [];
}

const labelsIn = async (store: string): Promise<readonly string[]> => [
  ...new Set((await readFitStore(store)).map(({ label }) => String(label))),
];

describe("a store", () => {
  test("has every configuration of each search, and exports them for others to query", async () => {
    const store = newStore();
    storeFit(store, summary, { at: "2030-01-02T00:00:00Z", label: "two" });
    storeFit(store, summary, { at: "2030-01-01T00:00:00Z", label: "one" });
    expect(await labelsIn(store)).toEqual(["one", "two"]);
    const path = join(folder, "exported.sqlite");
    expect(await exportFitStore(store, path)).toBe(12);
    expect(await ask(path, "SELECT label, COUNT(*) FROM fit GROUP BY label ORDER BY label")).toEqual([
      ["one", 6],
      ["two", 6],
    ]);
    const { best, rows } = summary;
    expect(
      await ask(
        path,
        "SELECT way, ranks, batch, peak_bytes, step_ms, cost_per_million FROM fit WHERE is_best AND label = 'two'",
      ),
    ).toEqual([
      [
        best!.configuration.way,
        best!.configuration.ranks,
        best!.batch,
        best!.peakBytes,
        best!.stepMs,
        best!.costPerMillion,
      ],
    ]);
    expect(
      await ask(path, "SELECT outcome, COUNT(*) FROM fit WHERE label = 'one' GROUP BY outcome ORDER BY outcome"),
    ).toEqual(
      [
        ["does not fit", summary.notFitting.length],
        ["fits", rows.length],
        ["refused", summary.refused.length],
      ].filter(([, count]) => count !== 0),
    );
    storeFit(store, summary, { at: "2030-01-03T00:00:00Z", label: "three" });
    expect(await exportFitStore(store, path)).toBe(18);
  });

  test("exports the same bytes for the same searches", async () => {
    const store = newStore();
    storeFit(store, summary, { at: "2030-01-01T00:00:00Z" });
    const paths = [join(folder, "a.sqlite"), join(folder, "b.sqlite")];
    for (const path of paths) await exportFitStore(store, path);
    expect(readFileSync(paths[0])).toEqual(readFileSync(paths[1]));
  });

  test("reads SQLite stores of earlier releases that lie in its folder", async () => {
    const store = newStore();
    storeFit(store, summary, { at: "2030-01-02T00:00:00Z", label: "new" });
    await exportFitStore(store, join(folder, "old.sqlite"));
    const next = newStore();
    mkdirSync(next);
    writeFileSync(join(next, "old.sqlite"), readFileSync(join(folder, "old.sqlite")));
    storeFit(next, summary, { at: "2030-01-03T00:00:00Z", label: "newer" });
    expect(await labelsIn(next)).toEqual(["new", "newer"]);
    // A log beside it has rows that are not in the file.
    writeFileSync(join(next, "old.sqlite-wal"), "rows");
    await expect(readFitStore(next)).rejects.toMatchObject({
      code: "FIT_STORE",
      message: expect.stringContaining("PRAGMA journal_mode=DELETE"),
    });
  });

  test("refuses what it cannot be, with the next step", () => {
    const file = join(folder, "file.sqlite");
    writeFileSync(file, "");
    const cases: readonly (readonly [string, string])[] = [
      [file, "mkdir fits && mv"],
      [join(file, "below"), "name another folder with --store"],
      ["/proc/none", "name another folder with --store"],
      ["/sys/none", "name another folder with --store"],
    ];
    for (const [at, message] of cases) {
      const expected = expect.objectContaining({ code: "FIT_STORE", message: expect.stringContaining(message) });
      expect(() => checkFitStore(at)).toThrow(expected);
      expect(() => storeFit(at, summary, { at: "" })).toThrow(expected);
    }
  });

  test("names the file that is damaged, whatever was done to it", async () => {
    const whole = newStore();
    const path = storeFit(whole, summary, { at: "2030-01-01T00:00:00Z" });
    const text = readFileSync(path, "utf8");
    const name = path.slice(whole.length + 1);
    const damages: readonly string[] = ["", text.slice(0, -10), text.replace("a100", "a200"), `${text}{}\n`, "\0"];
    for (const damage of damages) {
      writeFileSync(path, damage);
      await expect(readFitStore(whole)).rejects.toMatchObject({
        code: "FIT_STORE",
        message: expect.stringContaining(name),
      });
    }
    rmSync(path);
    const [first] = text.split("\n");
    const rows: readonly (readonly [string, string])[] = [
      ["{", "line 1"],
      ["[]", "field 'at'"],
      [first.replace(/"ranks":\d+/, '"ranks":"1"'), "field 'ranks'"],
      [first.replace('"at":"', '"more":"'), "field '"],
      [first.replace(/"batch":\d+/, '"batch":1e300'), "field 'batch'"],
    ];
    for (const [row, message] of rows) {
      writeFileSync(join(whole, "by-hand.jsonl"), row);
      await expect(readFitStore(whole)).rejects.toMatchObject({
        code: "FIT_STORE",
        message: expect.stringContaining(message),
      });
    }
    rmSync(join(whole, "by-hand.jsonl"));
    spawnSync("mkfifo", [join(whole, "pipe.jsonl")]);
    await expect(readFitStore(whole)).rejects.toThrow("not a regular file");
    rmSync(join(whole, "pipe.jsonl"));
    symlinkSync("/dev/zero", join(whole, "zero.jsonl"));
    await expect(readFitStore(whole)).rejects.toThrow("not a regular file");
  });

  test("is never exported over a file that is not an export", async () => {
    const store = newStore();
    storeFit(store, summary, { at: "2030-01-01T00:00:00Z" });
    for (const content of ["not a database, but long enough to be one".repeat(20), "short", ""]) {
      const other = join(folder, "other.sqlite");
      writeFileSync(other, content);
      await expect(exportFitStore(store, other)).rejects.toMatchObject({ code: "FIT_STORE" });
      expect(readFileSync(other, "utf8")).toBe(content);
    }
  });
});

describe("stores in several processes", () => {
  const script = join(folder, "store-process.mjs");
  const input = join(folder, "summary.json");
  beforeAll(async () => {
    writeFileSync(input, JSON.stringify(summary));
    await build({
      entryPoints: [fileURLToPath(new URL("store/store-process.ts", import.meta.url))],
      outfile: script,
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["@remat/source"],
      external: ["highs", "sql.js", "hyparquet-writer"],
      logLevel: "error",
    });
  });
  const start = (store: string, label: string, times: number) =>
    spawn(process.execPath, [script, store, input, label, `${times}`], { stdio: ["ignore", "pipe", "inherit"] });

  test.each([6, 16])("keep all of %i searches that end at the same time", async (count) => {
    const store = newStore();
    const labels = Array.from({ length: count }, (_, i) => `search${i}`);
    const codes = await Promise.all(labels.map(async (label) => (await once(start(store, label, 1), "close"))[0]));
    expect(codes).toEqual(labels.map(() => 0));
    expect((await labelsIn(store)).toSorted()).toEqual(labels.map((label) => `${label}-0`).toSorted());
    expect(await exportFitStore(store, `${store}.sqlite`)).toBe(6 * count);
  });

  test("keep what was stored when they are killed at any moment, and the rest stays readable", async () => {
    const store = newStore();
    const told: string[] = [];
    await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const child = start(store, `killed${i}`, 100_000);
        let output = "";
        child.stdout.on("data", (text: Buffer) => {
          output += text.toString();
          if (output.split("\n").length > 5 * (i + 1)) child.kill("SIGKILL");
        });
        await once(child, "close");
        told.push(...output.split("\n").filter((line) => line !== ""));
      }),
    );
    const rows = await readFitStore(store);
    const stored = new Map<unknown, number>();
    for (const { label } of rows) stored.set(label, (stored.get(label) ?? 0) + 1);
    expect(told.length).toBeGreaterThan(100);
    expect(told.filter((label) => !stored.has(label))).toEqual([]);
    expect(new Set(stored.values())).toEqual(new Set([6]));
  });

  test("leave nothing behind if a file cannot grow", async () => {
    const store = newStore();
    const { status, stderr } = spawnSync(
      "sh",
      ["-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh", process.execPath, script, store, input, "full", "1"],
      { encoding: "utf8" },
    );
    expect(status).not.toBe(0);
    expect(stderr).toContain("the store cannot be written");
    expect(readdirSync(store)).toEqual([]);
  });
});

test("a Parquet file has the rows of a store, null where those have nothing", async () => {
  const search = { at: "2030-01-01T00:00:00Z", label: "one" };
  const file = await fitParquet(summary, search);
  const store = newStore();
  storeFit(store, summary, search);
  const stored = await readFitStore(store);
  const rows = await parquetReadObjects({ file: file.slice().buffer as ArrayBuffer });
  const plain = (value: unknown): unknown => (typeof value === "bigint" ? Number(value) : (value ?? null));
  expect(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))),
  ).toEqual(stored);
  expect(stored.flatMap((row) => Object.values(row))).toContain(null);
});
