import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasRedis, RedisServer } from "@remat/testkit";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { remat, rematIn } from "./run.js";

const recorded = fileURLToPath(new URL("../../../examples/llama-pytorch/run-512.json.gz", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-fit-fleet-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const sweep = ["fit", recorded, "--devices", "a100,l4", "--ranks", "1,8", "--ways", "stock,offload"];

describe.runIf(hasRedis())("remat fit --engine", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.start(folder);
  });
  afterAll(() => redis.kill());

  it("shows what one machine shows, answered by remat fit --serve, and says where nobody is there", async () => {
    let told = "";
    const waiting = rematIn({ stderr: { write: (text) => (told += text) } }, ...sweep, "--engine", redis.url);
    await expect
      .poll(() => told, { timeout: 300_000 })
      .toContain("no workers are connected yet: start remat fit --serve");
    let interrupt = (): void => undefined;
    const serving = rematIn(
      {
        onInterrupt(listener) {
          interrupt = listener;
          return () => undefined;
        },
      },
      ...["fit", recorded, "--serve", redis.url, "--workers", "2"],
    );
    const alone = await remat(...sweep);
    expect(await waiting).toMatchObject({ code: 0, stdout: alone.stdout });
    // Answers are available when requested again.
    expect(await remat(...sweep, "--engine", redis.url)).toEqual(alone);
    interrupt();
    const { code, stderr } = await serving;
    expect(code).toBe(0);
    expect(stderr.match(/^remat: answered /gm)).toHaveLength(8);
  });
});

it("says where no server answers that was asked", async () => {
  const { code, stderr } = await remat(...sweep, "--engine", "http://queue");
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("redis://host:6379") });
});

it("draws the table as it fills, on a terminal alone", async () => {
  const { stderr: refused, code } = await remat(...sweep, "--watch");
  expect({ code, refused }).toEqual({ code: 2, refused: expect.stringContaining("--watch needs a terminal") });
  let drawn = "";
  const write = (text: string): unknown => (drawn += text);
  const { stdout } = await rematIn({ stderr: { write, isTTY: true, columns: 60, rows: 12 } }, ...sweep, "--watch");
  expect(drawn).toMatch(/\b[1-8] configurations are left/);
  const lines = drawn.split("\n");
  expect(Math.max(...lines.map((line) => line.replace(/^\r\u001b\[\d+A\u001b\[J/, "").length))).toBeLessThan(60);
  // The live table is erased, and the result is shown as usual.
  expect(drawn).toMatch(/\u001b\[\d+A\u001b\[J$/);
  expect(stdout).toBe((await remat(...sweep)).stdout);
});

it("writes what was found as Parquet", async () => {
  const path = join(folder, "fits.parquet");
  const { code } = await remat(...sweep, "--parquet", path, "--label", "main");
  expect(code).toBe(0);
  const file = readFileSync(path);
  const rows = await parquetReadObjects({ file: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) });
  const { stdout } = await remat(...sweep, "--format", "json");
  const { rows: found } = JSON.parse(stdout) as { rows: { peakBytes: number }[] };
  expect(rows.filter(({ outcome }) => outcome === "fits").map((row) => Number(row["peak_bytes"]))).toEqual(
    found.map(({ peakBytes }) => peakBytes),
  );
  expect(new Set(rows.map(({ label }) => label))).toEqual(new Set(["main"]));
});
