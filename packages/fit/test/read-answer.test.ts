import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deviceSpec } from "@remat/runtime-estimator";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readFleetUnit } from "../src/bullmq/fleet-unit.js";
import { type FitAnswer, type FitUnit, fitUnitBatch, stepsOfRuns, unitsOf } from "../src/index.js";
import { fitInWorkers, UnitCache } from "../src/node/index.js";
import { readAnswer } from "../src/node/read-answer.js";
import { sizedRuns } from "./steps.js";

const folder = mkdtempSync(join(tmpdir(), "remat-answers-"));
afterAll(() => rmSync(folder, { recursive: true }));

let pairs: readonly { readonly unit: FitUnit; readonly answer: FitAnswer }[];
beforeAll(async () => {
  const steps = stepsOfRuns(sizedRuns("convolutions_batch").slice(0, 2));
  const found = [];
  for (const memoryBytes of [60_000, 400_000])
    for (const unit of unitsOf(
      {
        devices: [deviceSpec("a100")],
        memoryBytes,
        batches: [1, 2, 3, 5, 8, 13],
        ways: ["stock", "recompute", "offload", "early-release"],
        ranks: [1, 2],
        precisions: ["f32", "bf16"],
      },
      steps,
    ))
      found.push({ unit, answer: await fitUnitBatch(unit, steps) });
  pairs = found;
});

/** As it comes from a file or a queue. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** All places in a value. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string, unknown>)[key] = replaced((value as Record<string, unknown>)[key], rest, by);
  return copy;
}

const refused = (value: unknown, unit: FitUnit): string => {
  try {
    readAnswer(value, unit);
  } catch (error) {
    expect(error).toMatchObject({ code: "FIT_ANSWER" });
    return (error as Error).message;
  }
  return "";
};

describe("an answer from elsewhere", () => {
  it("is taken as it was given, through JSON, too", () => {
    expect(new Set(pairs.map(({ answer }) => answer.kind))).toEqual(new Set(["fits", "not-fitting", "refused"]));
    for (const { unit, answer } of pairs) {
      expect(readAnswer(answer, unit)).toBe(answer);
      expect(JSON.stringify(readAnswer(asJson(answer), unit))).toBe(JSON.stringify(answer));
    }
  });

  it("is refused by the name of its field wherever something of another kind stands", () => {
    const kinds: readonly unknown[] = [null, {}, { length: 1e9 }, Number.NaN, "\0", -1, 1e300, [[]]];
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.constantFrom(...kinds), (at, place, by) => {
        const { unit, answer } = pairs[at % pairs.length];
        const value = asJson(answer);
        const paths = pathsOf(value);
        const path = paths[place % paths.length];
        // Any text is a reason.
        fc.pre(!(path.at(-1) === "reason" && typeof by === "string"));
        // Any figure is one of what a step takes.
        fc.pre(!(by === 1e300 && /Bytes$|Ms$|^gap$/.test(path.at(-1) ?? "")));
        fc.pre(!(by === 1e300 && path.includes("bytesByCategory")));
        // An empty list of what is checkpointed is one, and text is a name.
        fc.pre(!path.includes("policy") && !path.includes("sharding") && !path.includes("bytesByCategory"));
        expect(refused(replaced(value, path, by), unit)).toMatch(/field|expected/i);
      }),
      { numRuns: 1000 },
    );
  });

  it("is refused if it is the answer to another unit, or contradicts its own", () => {
    for (const { unit, answer } of pairs) {
      const other = { ...unit, configuration: { ...unit.configuration, device: "h100" } };
      expect(refused(answer, other)).toContain("configuration'");
      if (answer.kind !== "fits") continue;
      const { row } = answer;
      const changes: readonly (readonly [string, unknown])[] = [
        ["batch", 4],
        ["batch", row.batch === 1 ? 2 : 1],
        ["peakBytes", unit.memoryBytes + 1],
        ["memoryBytes", unit.memoryBytes * 2],
        ["overhead", unit.maxOverhead + 0.1],
        ["microBatches", 2],
        ["samplesPerSecond", 1e9],
        ["more", 1],
      ];
      for (const [field, value] of changes)
        expect([field, refused({ kind: "fits", row: { ...row, [field]: value } }, unit)]).toEqual([
          field,
          expect.stringMatching(/field 'row\./),
        ]);
    }
  });
});

describe("a cache that somebody has written to", () => {
  it("rejects what cannot be an answer, says so, and has it computed again", async () => {
    const { unit, answer } = pairs.find((pair) => pair.answer.kind === "fits")!;
    const at = join(folder, "cache");
    const told: string[] = [];
    const cache = new UnitCache(
      at,
      "content",
      () => undefined,
      (why) => told.push(why),
    );
    cache.put(unit, answer);
    const [name] = readdirSync(at);
    const path = join(at, name);
    const text = readFileSync(path, "utf8");
    const kept = JSON.parse(text) as { key: string; answer: unknown };
    const search = () =>
      fitInWorkers([unit], {
        file: new URL("file:///none"),
        workerData: undefined,
        cache,
        fitHere: async () => answer,
      });
    const damages: readonly (readonly [() => unknown, RegExp])[] = [
      [() => writeFileSync(path, text.slice(0, -20)), /JSON/],
      [() => writeFileSync(path, "null"), /another question/],
      [() => writeFileSync(path, JSON.stringify({ ...kept, key: "other" })), /another question/],
      [() => writeFileSync(path, JSON.stringify({ ...kept, answer: { kind: "fits", row: {} } })), /field 'row\./],
      [() => writeFileSync(path, JSON.stringify({ ...kept, answer: undefined })), /expected/],
      [() => spawnSync("mkfifo", [path]), /not a regular file/],
      [() => symlinkSync("/dev/zero", path), /not a regular file/],
    ];
    for (const [damage, why] of damages) {
      rmSync(path);
      damage();
      expect(await search()).toEqual([answer]);
      expect(told.splice(0)).toEqual([expect.stringMatching(why)]);
      // A device is not written over: whoever put it there has to take it away.
      if (/regular/.test(why.source)) {
        rmSync(path);
        cache.put(unit, answer);
      } else expect(cache.get(unit)).toEqual(asJson(answer));
    }
    expect(told).toEqual([]);
  });
});

describe("a job of a queue", () => {
  it("is read if it is one, and refused by the name of its field", () => {
    for (const { unit } of pairs) {
      const job = asJson({ files: {}, contentKey: "key", unit });
      expect(readFleetUnit(job)).toEqual(job);
      const changes: readonly (readonly [readonly string[], unknown, string])[] = [
        [["unit", "batches"], [], "unit.batches"],
        [["unit", "batches"], Array.from({ length: 70_000 }, () => 1), "unit.batches"],
        [["unit", "batches", "0"], "../model.js", "unit.batches.0"],
        [["unit", "iterations"], -1, "unit.iterations"],
        [["unit", "efforts"], [1e9], "unit.efforts.0"],
        [["unit", "configuration", "way"], "__proto__", "unit.configuration.way"],
        [["unit", "path"], "/etc/passwd", "unit.path"],
        [["contentKey"], "x".repeat(1000), "contentKey"],
        [["module"], "model.js", "module"],
      ];
      for (const [path, by, field] of changes)
        expect(() => readFleetUnit(replaced(job, path, by))).toThrow(
          expect.objectContaining({ code: "FIT_FLEET", message: expect.stringContaining(`field '${field}'`) }),
        );
    }
  });
});
