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
  /** For each line, at the last census: how many of the judged tensors are lost. */
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

describe("which tensors are alive", () => {
  const site = { line: "net.js:1", owner: undefined, returnedBy: undefined };
  /** Takes every stack. */
  const watch = () => {
    let stacks = 0;
    const live = new LiveTensors(() => (stacks++, { weight: 1, read: () => site }));
    return { live, stacks: () => stacks };
  };
  const tensorOf = (id: number, given: object = {}): Tensor =>
    ({ id, shape: [4], dtype: "float32", size: 4, dataId: {}, kept: false, ...given }) as unknown as Tensor;
  const told = ({ count, bytes }: LiveTensors) => ({ count, bytes });

  it("begin to count when their period is over, and count until they are disposed of", () => {
    const { live } = watch();
    const tensors = [1, 2, 3].map((id) => tensorOf(id));
    for (const tensor of tensors) live.made(tensor, birth, false);
    expect(told(live)).toEqual({ count: 0, bytes: 0 });
    live.disposed(tensors[0]);
    live.endPeriod("step");
    expect(told(live)).toEqual({ count: 2, bytes: 32 });
    live.disposed(tensors[1]);
    // Disposed of again, and a tensor whose creation was not seen.
    live.disposed(tensors[1]);
    live.disposed(tensorOf(99));
    expect(told(live)).toEqual({ count: 1, bytes: 16 });
    live.disposed(tensors[2]);
    expect(told(live)).toEqual({ count: 0, bytes: 0 });
  });

  it("count the bytes of their dtype, of text and complex numbers none", () => {
    for (const [dtype, bytes] of [
      ["float32", 16],
      ["int32", 16],
      ["bool", 4],
      ["string", 0],
      ["complex64", 0],
    ] as const) {
      const { live } = watch();
      const tensor = tensorOf(1, { dtype });
      live.made(tensor, birth, false);
      live.endPeriod("step");
      expect([dtype, told(live)]).toEqual([dtype, { count: 1, bytes }]);
      live.disposed(tensor);
      expect([dtype, told(live)]).toEqual([dtype, { count: 0, bytes: 0 }]);
    }
  });

  it("have the bytes of data that several are on once, and again when it is made again", () => {
    const { live } = watch();
    const dataId = {};
    const [first, second, third] = [1, 2, 3].map((id) => tensorOf(id, { dataId }));
    for (const tensor of [first, second]) live.made(tensor, birth, false);
    live.endPeriod("step");
    expect(told(live)).toEqual({ count: 2, bytes: 16 });
    live.disposed(second);
    expect(told(live)).toEqual({ count: 1, bytes: 16 });
    live.disposed(first);
    expect(told(live)).toEqual({ count: 0, bytes: 0 });
    live.made(third, birth, false);
    live.endPeriod("step");
    expect(told(live)).toEqual({ count: 1, bytes: 16 });
    live.disposed(third);
    // State left for an id would be attributed to the next tensor with that id.
    live.made(tensorOf(2), birth, false);
    live.endPeriod("step");
    live.disposed(tensorOf(2));
    expect(told(live)).toEqual({ count: 0, bytes: 0 });
  });

  it("are the same variable if it gets other data, and another one if a period ends before", () => {
    const { live, stacks } = watch();
    const variable = tensorOf(1, { name: "w" });
    live.made(variable, birth, true);
    expect(stacks()).toBe(1);
    // In its first period, too.
    live.disposed(variable);
    live.made(variable, birth, true);
    expect(stacks()).toBe(1);
    live.endPeriod("step");
    for (let step = 0; step < 3; step++) {
      live.disposed(variable);
      expect(told(live)).toEqual({ count: 0, bytes: 0 });
      live.made(tensorOf(1, { name: "w" }), birth, true);
      expect(told(live)).toEqual({ count: 1, bytes: 16 });
      live.endPeriod("step");
    }
    expect(stacks()).toBe(1);
    live.disposed(variable);
    live.endPeriod("step");
    live.made(variable, birth, true);
    expect(stacks()).toBe(2);
    expect(told(live)).toEqual({ count: 0, bytes: 0 });
    live.endPeriod("step");
    expect(told(live)).toEqual({ count: 1, bytes: 16 });
  });

  it("are a new variable if one that was disposed of in its first period is made after it", () => {
    const { live, stacks } = watch();
    const variable = tensorOf(1, { name: "w" });
    live.made(variable, birth, true);
    live.disposed(variable);
    live.endPeriod("step");
    expect(told(live)).toEqual({ count: 0, bytes: 0 });
    live.made(variable, birth, true);
    expect(stacks()).toBe(2);
  });

  it("are kept ones as long as most of those that are alive are kept", () => {
    const { live } = watch();
    const tensors = [1, 2, 3, 4].map((id) => tensorOf(id, { kept: id <= 2 }));
    for (const tensor of tensors) live.made(tensor, birth, false);
    live.endPeriod("step");
    const origins = () => live.report().map(({ origin, count }) => [origin, count]);
    expect(origins()).toEqual([["kept", 4]]);
    live.disposed(tensors[0]);
    expect(origins()).toEqual([["outside", 3]]);
    // Kept since: the census sees that.
    live.look([tensorOf(3, { kept: true })], 4);
    expect(origins()).toEqual([["kept", 3]]);
    // Dead tensors are not kept.
    live.disposed(tensors[1]);
    live.disposed(tensors[2]);
    live.look([tensorOf(1, { kept: true })], 4);
    expect(origins()).toEqual([["outside", 1]]);
  });

  it("are lost where the last census has found no object of theirs, but for those that came after it", () => {
    const { live } = watch();
    const tensors = [1, 2, 3, 4].map((id) => tensorOf(id));
    for (const tensor of tensors) live.made(tensor, birth, false);
    live.endPeriod("step");
    const fates = () => live.report().map(({ lost, held, count }) => ({ lost, held, count }));
    live.look([tensors[0]], 4);
    expect(fates()).toEqual([{ lost: 3, held: 1, count: 4 }]);
    live.look(tensors.slice(0, 3), 4);
    expect(fates()).toEqual([{ lost: 1, held: 3, count: 4 }]);
    // Up to an id only; told of all in the same shares.
    live.look([tensors[0]], 2);
    expect(fates()).toEqual([{ lost: 2, held: 2, count: 4 }]);
  });

  it("are asked for their stacks for a reason: early ones, variables, then kinds and ops that outlived a period", () => {
    const asked: unknown[] = [];
    const live = new LiveTensors((purpose) => (asked.push(purpose), 1));
    let id = 0;
    const reasonOf = (shape: readonly number[], isInTidy = false, isVariable = false) => {
      const tensor = tensorOf(id++, { shape });
      live.made(tensor, { ...birth, isInTidy }, isVariable);
      return { tensor, reason: asked.pop() };
    };
    /** One that does not outlive its period. */
    const reasonOfYoung = (...given: Parameters<typeof reasonOf>) => {
      const { tensor, reason } = reasonOf(...given);
      live.disposed(tensor);
      return reason;
    };
    const others = () => [reasonOfYoung([9]), reasonOfYoung([9], true), reasonOfYoung([9], false, true)];
    for (let period = 0; period < 3; period++) {
      expect(others()).toEqual(["early", "early", "variable"]);
      live.endPeriod("step");
    }
    expect(others()).toEqual(["outside", "sheltered", "variable"]);
    live.restart();
    expect(others()).toEqual(["early", "early", "variable"]);
    for (let period = 0; period < 3; period++) live.endPeriod("step");
    // Two shapes outlive a period, then a third.
    for (const shape of [[1], [2], [3]]) {
      expect(reasonOf(shape).reason).toBe("outside");
      expect(reasonOfYoung([9])).toBe("outside");
      live.endPeriod("step");
      expect(reasonOf(shape).reason).toMatchObject({
        op: "mul",
        isVariable: false,
        shapes: new Set([`float32 [${shape}]`]),
      });
    }
    // Only for this op in the same place, so neither in a tidy nor as a variable.
    expect(others()).toEqual(["many shapes", "sheltered", "variable"]);
  });

  it.each([
    [32, 32],
    [33, 33],
    [35, 33],
  ])("in %s shapes of one op are %s kinds: further shapes are counted together", (shapes, kinds) => {
    const live = new LiveTensors(() => 1);
    for (let i = 1; i <= shapes; i++) live.made(tensorOf(i, { shape: [i] }), birth, false);
    live.endPeriod("step");
    const counts = live.report().map(({ count }) => count);
    expect([counts.length, counts.at(-1)]).toEqual([kinds, Math.max(1, shapes - 32)]);
    // Nor is there a kind of its own for one of them later.
    live.made(tensorOf(99, { shape: [shapes] }), birth, false);
    live.endPeriod("step");
    expect(live.report()).toHaveLength(kinds);
  });

  it("are told by op, shapes, modules and names where no stack of theirs was taken", () => {
    // 5 is the weight that a stack would have had.
    for (const isVariable of [false, true]) {
      const live = new LiveTensors(
        () => 5,
        () => "net.a",
      );
      for (let id = 0; id < 120; id++) {
        live.made(tensorOf(id, { name: "w" }), birth, isVariable);
        if (id % 3 === 2) live.endPeriod("step");
      }
      live.look([], 120);
      expect(live.report()).toMatchObject([
        {
          op: isVariable ? "variable" : "mul",
          line: undefined,
          count: 120,
          lost: 120,
          held: 0,
          shapes: ["float32 [4]"],
          modules: ["net.a"],
          names: isVariable ? ["w"] : [],
          verdict: "growing",
          countPerPeriod: 3,
          bytesPerPeriod: 48,
        },
      ]);
      expect(live.stacks).toEqual({ taken: 0, outlived: 120 });
    }
  });
});
