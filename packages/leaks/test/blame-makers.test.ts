import type { MakerGrowth } from "@remat/memory/growth";
import { describe, expect, it } from "vitest";
import { blameMakers, type GroupGrowth } from "../src/blame-makers.js";
import type { LeakMaker } from "../src/leak-report.js";
import { Kind, Maker, Origin } from "../src/tensor-groups.js";

/** Live tensors of one kind from one line. `weight` tensors stand behind each stack that was taken. */
interface Tensors {
  /** Undefined: their stacks were not taken. */
  readonly line?: string;
  readonly alive: number;
  /** Found by the last census. */
  readonly lost?: number;
  readonly held?: number;
  readonly weight?: number;
}

/** Growth per step by line, or by `all` for the kind as a whole. Others are steady. */
type Growing = Readonly<Record<string, Partial<MakerGrowth>>>;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

/** Reports one kind of tensors with 4 bytes each, of which only some stacks were taken. */
function blame(tensors: readonly Tensors[], growing: Growing = {}, { possible = growing, per = growing } = {}) {
  const kind = new Kind(0, "mul", false, false);
  kind.isWhole = false;
  const lines = [...new Set(tensors.flatMap(({ line }) => (line === undefined ? [] : [line])))];
  const makers = lines.map((line, i) => {
    const site = { line: line === "library" ? undefined : line, owner: undefined, returnedBy: undefined };
    const maker = new Maker(1 + i, "mul", site, { isVariable: false, birth: { op: "mul", isInTidy: false } });
    maker.kinds.add(kind);
    return maker;
  });
  for (const { line, alive, lost = 0, held = 0, weight = 4 } of tensors) {
    const maker = line === undefined ? undefined : lines.indexOf(line);
    kind.origins.push(Object.assign(new Origin(kind, maker, weight), { alive, lost, held }));
    for (const group of [kind, ...(maker === undefined ? [] : [makers[maker]])]) {
      group.lost += lost;
      group.held += held;
    }
  }
  const asked: string[] = [];
  const nameOf = (row: number): string => (row === 0 ? "all" : lines[row - 1]);
  const growth: GroupGrowth = {
    growthOf: (row, nature) => {
      const { isLost, isPossible } = nature ?? {};
      const name = nameOf(row);
      if (isLost) asked.push(name);
      const rate = (isPossible ? possible : growing)[name];
      const ofRow = tensors.filter(({ line }) => row === 0 || line === name);
      const count = sum(ofRow.map(({ alive }) => alive));
      return {
        count,
        bytes: 4 * count,
        verdict: rate === undefined ? "steady" : "growing",
        period: "step",
        periods: 75,
        countPerPeriod: 0,
        bytesPerPeriod: 0,
        ...rate,
      };
    },
    growthPer: (period, row, nature) => {
      const { isLost, isPossible } = nature ?? {};
      const name = nameOf(row);
      if (isLost) asked.push(name);
      // Lines may grow by chance. The kind is exact.
      const rates = row === 0 || isPossible ? per : {};
      return period === "step" ? (rates[name]?.countPerPeriod ?? 0) : 0;
    },
  };
  return { entries: blameMakers(makers, [kind], growth), askedAsLost: [...new Set(asked)] };
}

const rate = (countPerPeriod: number): Partial<MakerGrowth> => ({ countPerPeriod, bytesPerPeriod: 4 * countPerPeriod });

/** The fields of an entry that tests compare. */
const brief = ({ line, lines, count, verdict, countPerPeriod, bytesPerPeriod }: LeakMaker) => ({
  ...(line !== undefined && { line }),
  ...(lines !== undefined && { lines: lines.map((each) => each.line) }),
  count,
  verdict,
  ...(countPerPeriod > 0 && { countPerPeriod, bytesPerPeriod }),
});
const entriesOf = (...given: Parameters<typeof blame>) => blame(...given).entries.map(brief);

describe("a line that has lost tensors of a kind that grows", () => {
  const others = { alive: 36, lost: 36 };

  it("leaks if three of its stacks are of lost tensors and it made at least a quarter of them", () => {
    expect(
      entriesOf([{ line: "a", alive: 3, lost: 3 }, { line: "b", alive: 9, lost: 9 }, others], { all: rate(8) }),
    ).toEqual([
      { line: "a", count: 12, verdict: "growing", countPerPeriod: 2, bytesPerPeriod: 8 },
      { line: "b", count: 36, verdict: "growing", countPerPeriod: 6, bytesPerPeriod: 24 },
    ]);
  });

  it("may leak if it made less than a quarter, at its share of the growth", () => {
    expect(
      entriesOf(
        [
          { line: "a", alive: 3, lost: 3 },
          { line: "b", alive: 12, lost: 12 },
          { alive: 45, lost: 45 },
        ],
        { all: rate(10) },
      ),
    ).toEqual([
      { line: "b", count: 48, verdict: "growing", countPerPeriod: 8, bytesPerPeriod: 32 },
      { lines: ["a"], count: 12, verdict: "growing", countPerPeriod: 2, bytesPerPeriod: 8 },
    ]);
  });

  it("is one of the possible lines if fewer of its stacks are of lost tensors", () => {
    expect(
      entriesOf(
        [
          { line: "a", alive: 2, lost: 2 },
          { alive: 6, lost: 6 },
        ],
        { all: rate(8) },
      ),
    ).toEqual([{ lines: ["a"], count: 8, verdict: "growing", countPerPeriod: 8, bytesPerPeriod: 32 }]);
  });

  it("does not leak for certain unless a quarter of the kind is lost", () => {
    const of = (held: number) => entriesOf([{ line: "a", alive: 12, lost: 3, held }], { all: rate(8) });
    expect(of(9)).toEqual([{ line: "a", count: 12, verdict: "growing", countPerPeriod: 8, bytesPerPeriod: 32 }]);
    expect(of(10)).toEqual([{ lines: ["a"], count: 12, verdict: "growing", countPerPeriod: 8, bytesPerPeriod: 32 }]);
  });

  it("keeps its own rate if it grows", () => {
    expect(entriesOf([{ line: "a", alive: 4, lost: 4 }], { all: rate(8), a: rate(3) })).toEqual([
      { line: "a", count: 4, verdict: "growing", countPerPeriod: 3, bytesPerPeriod: 12 },
    ]);
  });

  it("is steady if the kind is", () => {
    expect(entriesOf([{ line: "a", alive: 4, lost: 4 }])).toEqual([{ line: "a", count: 4, verdict: "steady" }]);
  });
});

describe("a kind that grows though no line grows", () => {
  it("is reported with the lines that may have made it, whose own entries lack its tensors", () => {
    const { entries } = blame(
      [{ line: "a", alive: 5 }, { line: "b", alive: 1 }, { line: "library", alive: 1 }, { alive: 7 }],
      {
        all: rate(2),
      },
    );
    expect(entries.map(brief)).toEqual([
      { lines: ["a", "b"], count: 14, verdict: "growing", countPerPeriod: 2, bytesPerPeriod: 8 },
    ]);
    expect(entries[0].estimates!.alive).toEqual({ count: 14, low: 14, high: 14, of: 14 });
  });

  it("is reported so beside a line that grows but made less than a quarter of it", () => {
    const of = (alive: number) =>
      entriesOf([{ line: "a", alive }, { line: "b", alive: 16 - alive }, { alive: 48 }], { all: rate(8), a: rate(1) });
    expect(of(3)).toEqual([
      { line: "a", count: 12, verdict: "growing", countPerPeriod: 1, bytesPerPeriod: 4 },
      { lines: ["a", "b"], count: 64, verdict: "growing", countPerPeriod: 8, bytesPerPeriod: 32 },
    ]);
    expect(of(4)).toEqual([
      { line: "a", count: 16, verdict: "growing", countPerPeriod: 1, bytesPerPeriod: 4 },
      { line: "b", count: 48, verdict: "steady" },
    ]);
  });
});

describe("beside a line that leaks for certain", () => {
  const tensors = [{ line: "a", alive: 8 }, { line: "b", alive: 2 }, { alive: 30 }];
  const growing = { all: rate(8), a: rate(6) };
  const named = { line: "a", count: 32, verdict: "growing", countPerPeriod: 6, bytesPerPeriod: 24 };

  it.each([
    // A quarter of the line's rise must be unexplained.
    [8, true],
    [8.1, false],
  ])("another that rises by %s per step may leak, of 8 of which 6 are explained: %s", (rise, isReported) => {
    const possible = { ...growing, b: rate(rise) };
    expect(entriesOf(tensors, growing, { possible, per: possible })).toEqual(
      isReported
        ? [named, { lines: ["b"], count: 8, verdict: "growing", countPerPeriod: rise, bytesPerPeriod: 4 * rise }]
        : [named, { line: "b", count: 8, verdict: "steady" }],
    );
  });

  it("another counts as far as the growth of the kind per the same period is not explained", () => {
    const possible = { ...growing, b: { ...rate(2), period: "predict" } };
    // The kind does not grow per call of `predict`.
    expect(entriesOf(tensors, growing, { possible })).toEqual([named, { line: "b", count: 8, verdict: "steady" }]);
    const never = { ...growing, b: { ...rate(2), period: undefined } };
    expect(entriesOf(tensors, growing, { possible: never })).toEqual([
      named,
      { line: "b", count: 8, verdict: "steady" },
    ]);
  });

  it("the growth that it explains is its own, by the share of its tensors that are of the kind", () => {
    const possible = { ...growing, a: rate(9), b: rate(4) };
    // All tensors of `a` are of this kind, so it explains more than all.
    expect(entriesOf(tensors, growing, { possible, per: possible })).toEqual([
      named,
      { line: "b", count: 8, verdict: "steady" },
    ]);
  });

  it("a line of a library is not reported as possible", () => {
    const possible = { ...growing, library: rate(2) };
    const given = [{ line: "a", alive: 8 }, { line: "library", alive: 2 }, { alive: 30 }];
    expect(entriesOf(given, growing, { possible, per: possible })).toEqual([named, { count: 8, verdict: "steady" }]);
  });

  it("tensors of which no stack with their weight was taken are steady, without a line", () => {
    expect(entriesOf([...tensors, { alive: 5, weight: 9 }], growing)).toEqual([
      named,
      { line: "b", count: 8, verdict: "steady" },
      { count: 5, verdict: "steady" },
    ]);
  });
});

it("asks for growth in phases that are over if more tensors are lost than held", () => {
  const growing = { all: rate(8), a: rate(6), b: rate(2) };
  const of = (lost: number, held: number) =>
    blame(
      [
        { line: "a", alive: 8, lost, held },
        { line: "b", alive: 2, lost, held },
      ],
      { all: rate(8), a: rate(6) },
      { possible: growing, per: growing },
    ).askedAsLost.sort();
  expect(of(2, 1)).toEqual(["a", "all", "b"]);
  expect(of(2, 2)).toEqual([]);
});
