import { findRepeat, GrowthAccumulator, judgeGrowth } from "@remat/memory/growth";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const verdict = (samples: readonly number[], now = samples.at(-1) ?? 0) => judgeGrowth(samples, now).verdict;
const tooth = (length: number, height: number) => Array.from({ length }, (_, i) => 5 + (i % height));

describe("judgeGrowth", () => {
  it.each<[what: string, samples: readonly number[], expected: string]>([
    ["one difference", [1, 2], "too short"],
    ["three periods, the first of which is warm-up", [1, 2, 3], "too short"],
    ["three differences after a warm-up", [1, 2, 3, 4, 5], "growing"],
    ["a warm-up that makes slots", [0, 96, 96, 96, 96, 96], "steady"],
    ["a buffer that fills half of the run", [1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6], "steady"],
    [
      "a buffer that has been full for a third of the run",
      [...Array(20).keys(), ...Array<number>(10).fill(20)],
      "steady",
    ],
    ["what is emptied every three periods", tooth(14, 3), "steady"],
    ["one in ten periods", Array.from({ length: 60 }, (_, i) => Math.floor(i / 10)), "growing"],
    ["two models made one after another", [4, 4, 4, 4, 8, 8, 8, 8, 8], "steady"],
    ["what shrinks", [9, 8, 7, 6, 5, 4], "steady"],
  ])("of %s", (_, samples, expected) => {
    expect(verdict(samples)).toBe(expected);
  });

  it("counts what is given back in the end as not held", () => {
    expect(verdict([1, 2, 3, 4, 5, 6, 7, 8], 0)).toBe("steady");
  });

  it("knows that of a tensor that is replaced by a larger one two are alive where a period ends", () => {
    expect(verdict([9, 11, 13, 15, 17, 19, 21, 23, 25], 13)).toBe("growing");
  });

  it("finds every leak of at least one a period, with its rate, under any noise that comes back", () => {
    const cases = fc.record({
      rate: fc.integer({ min: 1, max: 5 }),
      noise: fc.array(fc.nat(3), { minLength: 12, maxLength: 40 }),
    });
    fc.assert(
      fc.property(cases, ({ rate, noise }) => {
        const level = noise.map((more, i) => 4 * rate * i + more);
        const judged = judgeGrowth(level, 4 * rate * noise.length);
        expect(judged.verdict).toBe("growing");
        expect(Math.abs(judged.perSample - 4 * rate)).toBeLessThan(1);
        expect(verdict(noise, 0)).toBe("steady");
      }),
    );
  });
});

/** Numbers from 0 to 1, the same for each seed. */
function random(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

describe("bounded buffers are steady", () => {
  /** Fate of the oldest entries, or of all. */
  const kinds = {
    "drops its oldest entry": (size: number, bound: number) => Math.min(size, bound),
    "is emptied when it is full": (size: number, bound: number) => (size > bound ? 0 : size),
    "keeps a random part when it is full": (size: number, bound: number, draw: () => number) =>
      size > bound ? Math.floor(draw() * bound) : size,
    "loses a random part now and then": (size: number, bound: number, draw: () => number) =>
      draw() < 0.1 ? Math.floor(draw() * Math.min(size, bound)) : Math.min(size, bound),
  };
  it.each(Object.entries(kinds))("that %s", (_, trim) => {
    const cases = fc.record({
      seed: fc.nat(),
      bound: fc.integer({ min: 1, max: 60 }),
      rate: fc.integer({ min: 1, max: 4 }),
      start: fc.integer({ min: 0, max: 30 }),
    });
    fc.assert(
      fc.property(cases, ({ seed, bound, rate, start }) => {
        const draw = random(seed);
        const samples: number[] = [];
        for (let i = 0, size = 0; i < start + 12 * bound + 60; i++) {
          if (i >= start) for (let k = 0; k < rate; k++) size = trim(size + 1, bound, draw);
          samples.push(size);
        }
        expect(verdict(samples), samples.join()).toBe("steady");
      }),
      { numRuns: 500 },
    );
  });

  it("also a cache of random keys that is nearly full", () => {
    const cases = fc.record({ seed: fc.nat(), keys: fc.integer({ min: 2, max: 200 }) });
    fc.assert(
      fc.property(cases, ({ seed, keys }) => {
        const draw = random(seed);
        const cache = new Set<number>();
        const samples = Array.from({ length: 4 * keys + 20 }, () => {
          cache.add(Math.floor(draw() * keys));
          return cache.size;
        });
        expect(verdict(samples), samples.join()).toBe("steady");
      }),
      { numRuns: 500 },
    );
  });
});

describe("GrowthAccumulator", () => {
  const run = (periods: number, each: (growth: GrowthAccumulator, period: number) => void, kind = "step") => {
    const growth = new GrowthAccumulator();
    for (let period = 0; period < periods; period++) {
      each(growth, period);
      growth.endPeriod(kind);
    }
    return growth;
  };

  it("tells what grows by how much, and what is steady, over a million periods", () => {
    const growth = run(1_000_000, (g, period) => {
      g.allocated(0, 16);
      g.allocated(1, 8);
      g.freed(1, 8);
      if (period % 5000 === 0) g.allocated(2, 4);
      if (period < 100) g.allocated(3, 4);
    });
    expect(growth.growthOf(0)).toMatchObject({ count: 1e6, verdict: "growing", countPerPeriod: 1, bytesPerPeriod: 16 });
    expect(growth.growthOf(1)).toMatchObject({ count: 0, verdict: "steady", countPerPeriod: 0 });
    expect(growth.growthOf(2).verdict).toBe("growing");
    expect(growth.growthOf(2).countPerPeriod).toBeCloseTo(1 / 5000, 5); // off by 6.2e-7
    expect(growth.growthOf(3)).toMatchObject({ count: 100, bytes: 400, verdict: "steady" });
    expect(growth.periods()).toEqual(new Map([["step", 1_000_000]]));
  });

  it("tells one tensor that is replaced by a larger one", () => {
    const growth = run(12, (g, period) => {
      g.allocated(0, 8 * (period + 1));
      if (period > 0) g.freed(0, 8 * period);
    });
    expect(growth.growthOf(0)).toMatchObject({ count: 1, verdict: "growing", countPerPeriod: 0, bytesPerPeriod: 8 });
  });

  it("tells growth by the kind of period in which it is one at a time", () => {
    const growth = run(10, (g) => {
      for (let call = 0; call < 4; call++) {
        g.allocated(0, 4);
        g.endPeriod("predict");
      }
    });
    expect(growth.growthOf(0)).toMatchObject({ period: "predict", countPerPeriod: 1 });
  });

  it("knows growth in training that ended long before the program", () => {
    const growth = run(20, (g) => g.allocated(0, 4));
    for (let call = 0; call < 50; call++) growth.endPeriod("predict");
    expect(growth.growthOf(0)).toMatchObject({ verdict: "growing", period: "step", count: 20 });
  });

  it("says of what was loaded before training that it is steady, unless it is lost", () => {
    const growth = new GrowthAccumulator(["repeat", "predict", "step"]);
    const phase = (kind: string, periods: number, maker?: number) => {
      for (let period = 0; period < periods; period++) {
        if (maker !== undefined) growth.allocated(maker, 4);
        growth.endPeriod(kind);
      }
    };
    phase("repeat", 50, 0);
    expect(growth.growthOf(0).verdict).toBe("growing");
    phase("predict", 5, 1);
    expect(growth.growthOf(0).verdict).toBe("steady");
    expect(growth.growthOf(0, { isLost: true })).toMatchObject({ verdict: "growing", period: "repeat", count: 50 });
    for (let epoch = 0; epoch < 4; epoch++) {
      phase("step", 10, 2);
      phase("predict", 2, 3);
    }
    expect([1, 2, 3].map((maker) => growth.growthOf(maker).verdict)).toEqual(["steady", "growing", "growing"]);
    phase("done", 25);
    expect(growth.growthOf(3).verdict).toBe("steady");
  });

  it("takes back periods that were none", () => {
    const taken = new GrowthAccumulator();
    for (let period = 0; period < 300; period++) taken.endPeriod("repeat");
    taken.takeBack("repeat", 299);
    expect(taken.periods()).toEqual(new Map([["repeat", 1]]));
    const growth = run(40, () => {}, "repeat");
    growth.takeBack("repeat", 39);
    for (let period = 0; period < 12; period++) {
      growth.allocated(0, 4);
      growth.endPeriod("repeat");
    }
    expect(growth.periods()).toEqual(new Map([["repeat", 13]]));
    expect(growth.growthOf(0)).toMatchObject({ verdict: "growing", countPerPeriod: 1 });
    expect(run(40, () => {}, "repeat").growthOf(0).verdict).toBe("steady");
  });

  it("knows a buffer that is emptied within a period, and is fuller by chance at the end of each", () => {
    const buffer: number[] = [];
    const growth = run(12, (g) => {
      for (let k = 0; k < 100; k++) {
        buffer.push(4);
        if (buffer.length < 92) continue;
        // Entries of earlier periods, the only ones counted before the period is over.
        if (g.growthOf(0).count > 0) for (let old = g.growthOf(0).count; old > 0; old--) g.freed(0, 4);
        buffer.length = 0;
      }
      while (g.growthOf(0).count < buffer.length) g.allocated(0, 4);
    });
    expect(growth.growthOf(0)).toMatchObject({ count: 1200 % 92, verdict: "steady" });
  });

  /** A leak and a full buffer, of which one in `weightAt(period)` is counted, chosen at random. */
  const sampled = (seed: number, periods: number, weightAt: (period: number) => number) => {
    const draw = random(seed);
    const buffer: number[] = [];
    return run(periods, (g, period) => {
      const weight = weightAt(period);
      if (draw() * weight < 1) g.allocated(0, 4, weight);
      buffer.push(draw() * weight < 1 ? weight : 0);
      if (buffer.at(-1)! > 0) g.allocated(1, 4, weight);
      const dropped = buffer.length > 300 ? buffer.shift()! : 0;
      if (dropped > 0) g.freed(1, 4, dropped);
    });
  };

  it("never takes chance for growth, however few of a buffer are counted, and estimates what leaks", () => {
    const weights = fc.record({
      seed: fc.nat(),
      before: fc.integer({ min: 0, max: 9 }),
      after: fc.integer({ min: 0, max: 9 }),
      change: fc.integer({ min: 1, max: 4000 }),
    });
    fc.assert(
      fc.property(weights, ({ seed, before, after, change }) => {
        const growth = sampled(seed, 4000, (period) => 2 ** (period < change ? before : after));
        expect(growth.growthOf(1).verdict).toBe("steady");
        const { count, countError = 0 } = growth.growthOf(0);
        expect(Math.abs(count - 4000)).toBeLessThanOrEqual(10 * Math.max(countError, 2 ** Math.max(before, after)));
      }),
      { numRuns: 200 },
    );
  });

  it("tells what leaks from one in eight", () => {
    const growth = sampled(7, 6000, () => 8).growthOf(0);
    expect(growth).toMatchObject({ verdict: "growing", period: "step" });
    expect(growth.countPerPeriod).toBeCloseTo(1, 0); // off by 0.08
    expect(growth.countError).toBeGreaterThan(100);
  });

  it("says nothing before three periods have been seen", () => {
    expect(new GrowthAccumulator().growthOf(0)).toMatchObject({ verdict: "too short", period: undefined });
    expect(run(3, (g) => g.allocated(0, 4)).growthOf(0)).toMatchObject({ count: 3, verdict: "too short" });
  });
});

describe("findRepeat", () => {
  it("finds a sequence that a list ends with three times over, and none that explains more", () => {
    const ops = fc.array(fc.nat(2), { minLength: 1, maxLength: 8 });
    const explains = (list: readonly number[], length: number) => {
      let at = list.length - 1;
      while (at >= length && list[at] === list[at - length]) at--;
      return list.length - 1 - at + length;
    };
    fc.assert(
      fc.property(ops, ops, (before, repeated) => {
        const list = [...before, ...repeated, ...repeated, ...repeated];
        const { length: found, explained } = findRepeat(list)!;
        expect(explained).toBe(explains(list, found));
        const [last, middle, first] = [1, 2, 3].map((n) => list.slice(list.length - n * found).slice(0, found));
        expect([middle, first]).toEqual([last, last]);
        expect(explains(list, found)).toBeGreaterThanOrEqual(explains(list, repeated.length));
      }),
    );
    expect(findRepeat([3, 1, 2, 1, 2, 1, 2])).toEqual({ length: 2, explained: 6 });
    // An inner loop is not the sequence.
    expect(findRepeat([9, 1, 1, 1, 9, 1, 1, 1, 9, 1, 1, 1])?.length).toBe(4);
    expect(findRepeat([1, 2, 3])).toBeUndefined();
    expect(findRepeat([])).toBeUndefined();
  });
});
