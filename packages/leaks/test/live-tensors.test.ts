import type { Tensor } from "@tensorflow/tfjs-core";
import { describe, expect, it } from "vitest";
import { describeLeaks } from "../src/describe-leaks.js";
import { growing, type LeakMaker } from "../src/leak-report.js";
import { LiveTensors } from "../src/live-tensors.js";
import { Stacks } from "../src/stacks.js";

/** A line that makes the same tensors as the others: how many in each period, and what becomes of them. */
interface Line {
  readonly name: string;
  perPeriod(period: number): number;
  /** How many it keeps, the newest; undefined: it loses them all. */
  readonly keeps?: number;
}

interface Run {
  readonly makers: readonly LeakMaker[];
  /** By line, at the last census: how many are lost of those that are judged. */
  readonly lost: ReadonlyMap<string, number>;
}

const birth = { op: "mul", isInTidy: false } as Parameters<LiveTensors["made"]>[1];

/** Runs lines against a clock that stacks and periods take time of, with as many stacks as that allows. */
function simulate(lines: readonly Line[], periods: number, seed: number, { free = 40, share = 0.04 } = {}): Run {
  let now = 0;
  let running = "";
  const take = () => {
    now += 0.02;
    const line = running;
    return () => ({ line, owner: undefined, returnedBy: undefined });
  };
  const live = new LiveTensors(new Stacks(() => now, take, { share, free, seed }).take);
  const lineOf = new Map<number, string>();
  const lostIds: number[] = [];
  const kept = new Map(lines.map(({ name }) => [name, [] as Tensor[]]));
  let id = 0;
  let oldId = 0;
  const lost = new Map<string, number>();
  for (let period = 0; period < periods; period++) {
    for (const line of lines)
      for (let n = line.perPeriod(period); n > 0; n--) {
        running = line.name;
        const tensor = {
          id: id++,
          shape: [4],
          dtype: "float32",
          size: 4,
          dataId: {},
          kept: false,
        } as unknown as Tensor;
        lineOf.set(tensor.id, line.name);
        live.made(tensor, birth, false);
        if (line.keeps === undefined) {
          lostIds.push(tensor.id);
          continue;
        }
        const newest = kept.get(line.name)!;
        newest.push(tensor);
        if (newest.length > line.keeps) live.disposed(newest.shift()!);
      }
    now += 1;
    live.endPeriod("step");
    if (2 * period === periods) oldId = id - 1;
  }
  live.look([...kept.values()].flat(), oldId);
  for (const each of lostIds) if (each <= oldId) lost.set(lineOf.get(each)!, (lost.get(lineOf.get(each)!) ?? 0) + 1);
  return { makers: live.report(), lost };
}

const textOf = (makers: readonly LeakMaker[]): string =>
  describeLeaks({
    periods: [{ kind: "step", count: 200 }],
    count: makers.reduce((sum, { count }) => sum + count, 0),
    bytes: 0,
    makers,
    process: [],
    collectsLost: false,
    stacks: { taken: 10, outlived: 100 },
    elapsedMs: 1000,
  }).join("\n");

const programs: readonly (readonly [what: string, lines: readonly Line[]])[] = [
  [
    "two lines that lose all",
    [
      { name: "a", perPeriod: () => 9 },
      { name: "b", perPeriod: () => 3 },
    ],
  ],
  [
    "one that loses and one that keeps the newest",
    [
      { name: "a", perPeriod: () => 5 },
      { name: "b", perPeriod: () => 20, keeps: 50 },
    ],
  ],
  [
    "one that begins late",
    [
      { name: "a", perPeriod: () => 10 },
      { name: "b", perPeriod: (at) => (at > 60 ? 10 : 0) },
    ],
  ],
  [
    "one that ends early, and a rare one",
    [
      { name: "a", perPeriod: (at) => (at < 40 ? 30 : 2) },
      { name: "b", perPeriod: () => 6 },
      { name: "c", perPeriod: (at) => Number(at % 9 === 0) },
    ],
  ],
];

describe("if only some stacks were taken", () => {
  it.each(programs)("the intervals contain the number that the line lost: %s", (_, lines) => {
    let [intervals, hits, exact] = [0, 0, 0];
    for (let seed = 1; seed <= 120; seed++) {
      const { makers, lost } = simulate(lines, 200, 7919 * seed);
      const all = [...lost.values()].reduce((sum, n) => sum + n, 0);
      for (const { line, estimates } of makers) {
        if (line === undefined || estimates === undefined) continue;
        const { low, high, of } = estimates.lost;
        intervals++;
        if (low <= (lost.get(line) ?? 0) && (lost.get(line) ?? 0) <= high) hits++;
        if (of === all && high <= all && low >= 0) exact++;
      }
    }
    expect(intervals).toBeGreaterThan(100);
    expect(exact).toBe(intervals);
    expect(hits / intervals).toBeGreaterThanOrEqual(0.95);
  });

  it("a line that runs most and loses nothing has no share of what is lost", () => {
    let unclear = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const often = { name: "often", perPeriod: () => 99, keeps: 30 };
      const { makers } = simulate([often, { name: "loses", perPeriod: () => 1 }], 200, 7919 * seed, { free: 8 });
      for (const { line, lines } of growing({ makers })) {
        expect(line).not.toBe("often");
        unclear += Number(lines !== undefined);
        expect(lines?.find((each) => each.line === "often")?.share).toBeUndefined();
      }
      const text = textOf(makers);
      expect(text).not.toMatch(/% of|run longer|± /);
    }
    expect(unclear).toBeGreaterThan(10);
  });

  it("lines that lose have their shares of what is lost, however often others run", () => {
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const losing = names.map((name) => ({ name, perPeriod: () => 4 }));
    const often = { name: "often", perPeriod: () => 60, keeps: 10 };
    let told = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const { makers } = simulate([...losing, often], 200, 7919 * seed, { free: 0, share: 0.02 });
      const unclear = growing({ makers }).find(({ lines = [] }) => lines.some(({ share }) => share !== undefined));
      if (unclear === undefined) continue;
      told++;
      for (const { line, share } of unclear.lines!) {
        expect(names).toContain(line);
        expect(Math.abs(share! - 1 / 8)).toBeLessThan(0.2);
      }
      expect(textOf(makers)).toMatch(/\d+% of the lost tensors from \w/);
    }
    expect(told).toBeGreaterThan(3);
  });

  it("says which lines it may be if too few of the lost ones had their stacks taken", () => {
    const lines = ["a", "b"].map((name) => ({ name, perPeriod: () => 5 }));
    let told = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const text = textOf(simulate(lines, 200, 7919 * seed, { free: 0, share: 1e-4 }).makers);
      expect(text).not.toMatch(/%(?! conf)|run longer/);
      told += Number(/^tf\.mul, possibly at (?:one or more of these lines: [ab], [ab]|[ab]): /m.test(text));
    }
    expect(told).toBeGreaterThan(3);
  });
});

it("tensors that are held may be in a buffer that is not full yet", () => {
  const filling = { name: "replay", perPeriod: () => 2, keeps: 1000 };
  expect(textOf(simulate([filling], 100, 1, { free: 4000 }).makers)).toMatch(
    /may be in a buffer or cache that is still filling/,
  );
  expect(textOf(simulate([{ name: "lost", perPeriod: () => 2 }], 100, 1, { free: 4000 }).makers)).not.toMatch(
    /still filling/,
  );
});
