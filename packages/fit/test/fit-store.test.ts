import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deviceSpec } from "@remat/runtime-estimator";
import { parquetReadObjects } from "hyparquet";
import loadSqlite from "sql.js";
import { afterAll, expect, test } from "vitest";
import { fitUnitBatch, stepsOfRuns, summarizeFit, unitsOf } from "../src/index.js";
import { fitParquet, storeFit } from "../src/node/index.js";
import { sizedRuns } from "./steps.js";

const folder = mkdtempSync(join(tmpdir(), "remat-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "fits.sqlite");

async function search() {
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
  return summarizeFit(units, answers, { model: "convolutions", prices: { a100: 2 } });
}

test("a store has every configuration of each search, for others to query", async () => {
  const summary = await search();
  await storeFit(path, summary, { at: "2030-01-01T00:00:00Z", label: "one" });
  await storeFit(path, summary, { at: "2030-01-02T00:00:00Z", label: "two" });
  const { Database } = await loadSqlite();
  const db = new Database(readFileSync(path));
  const ask = (sql: string) => db.exec(sql)[0].values;
  expect(ask("SELECT label, COUNT(*) FROM fit GROUP BY label ORDER BY label")).toEqual([
    ["one", 6],
    ["two", 6],
  ]);
  const { best, rows } = summary;
  expect(
    ask("SELECT way, ranks, batch, peak_bytes, step_ms, cost_per_million FROM fit WHERE is_best AND label = 'two'"),
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
  expect(ask("SELECT outcome, COUNT(*) FROM fit WHERE label = 'one' GROUP BY outcome ORDER BY outcome")).toEqual(
    [
      ["does not fit", summary.notFitting.length],
      ["fits", rows.length],
      ["refused", summary.refused.length],
    ].filter(([, count]) => count !== 0),
  );
  db.close();
});

test("a Parquet file has the rows of a store, null where those have nothing", async () => {
  const summary = await search();
  const search1 = { at: "2030-01-01T00:00:00Z", label: "one" };
  const file = await fitParquet(summary, search1);
  const stored = join(folder, "one.sqlite");
  await storeFit(stored, summary, search1);
  const { Database } = await loadSqlite();
  const db = new Database(readFileSync(stored));
  const { columns, values } = db.exec("SELECT * FROM fit")[0];
  db.close();
  const rows = await parquetReadObjects({ file: file.slice().buffer as ArrayBuffer });
  expect(
    rows.map((row) =>
      columns.map((column) => {
        const value = row[column] as string | number | bigint | null | undefined;
        return typeof value === "bigint" ? Number(value) : (value ?? null);
      }),
    ),
  ).toEqual(values);
  expect(values.flat()).toContain(null);
});

test("a file that is no store is left as it is", async () => {
  const other = join(folder, "other.sqlite");
  writeFileSync(other, "no database, whatever it is called, and long enough to be looked at as one".repeat(20));
  const before = readFileSync(other);
  await expect(storeFit(other, await search(), { at: "" })).rejects.toMatchObject({ code: "FIT_STORE" });
  expect(readFileSync(other)).toEqual(before);
});
