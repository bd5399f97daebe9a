import { memoryTimeline } from "@remat/memory";
import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AlignedOps, alignHighest, type HeldByOp, matchOps } from "../src/index.js";
import { goldenTrace } from "./golden-trace.js";

describe("another run", () => {
  it("that is the same lies on the first", () => {
    const adam = goldenTrace("mem_03_mlp_adam");
    expect(alignHighest(adam, adam, memoryTimeline(adam))).toEqual(memoryTimeline(adam).highestBytes);
  });

  it("with more ops lines up with the ops that both have", () => {
    const plain = goldenTrace("mem_02_transformer_adam");
    const checkpointed = goldenTrace("mem_02_transformer_ac_adam");
    const match = matchOps(plain, checkpointed);
    const both = match.filter((op) => op >= 0);
    expect(both.length).toBeGreaterThan(plain.ops.count * 0.9);
    for (let i = 1; i < both.length; i++) expect(both[i]).toBeGreaterThan(both[i - 1]);
    for (const [op, found] of match.entries())
      if (found >= 0) expect(checkpointed.opName(found)).toBe(plain.opName(op));
    const highest = alignHighest(plain, checkpointed, memoryTimeline(checkpointed));
    expect(Math.max(...highest)).toBe(Math.max(...memoryTimeline(checkpointed).highestBytes));
  });
});

/** For each op of a run: increasing ops of another run, or -1; and the other run's memory. */
const aligned = fc
  .record({
    otherCount: fc.integer({ min: 1, max: 40 }),
    // How many ops of the other are passed over before the one that is the same.
    picks: fc.array(fc.option(fc.nat({ max: 3 })), { minLength: 1, maxLength: 30 }),
    bytes: fc.array(fc.nat({ max: 1000 }), { minLength: 40, maxLength: 40 }),
  })
  .map(({ otherCount, picks, bytes }) => {
    let last = -1;
    const match = Int32Array.from(picks, (pick) => {
      if (pick === null || last + 1 + pick >= otherCount) return -1;
      return (last += 1 + pick);
    });
    const highestBytes = Float64Array.from(bytes.slice(0, otherCount));
    const totalBytes = highestBytes.map((each) => each / 2);
    const peakOp = highestBytes.indexOf(Math.max(...highestBytes));
    const other: HeldByOp = {
      count: otherCount,
      totalBytes,
      highestBytes,
      bytesByCategory: new Map([["activation", totalBytes]]),
      peakOp,
      recomputations: Uint16Array.from({ length: otherCount }, (_, op) => op + 1),
    };
    return { match, other };
  });

it("is carried over without losing its peak, what is held, or an op that both have", () => {
  const given = checkedShare();
  return fc.assert(
    fc.property(aligned, ({ match, other }) => {
      const ops = new AlignedOps(match, other.count);
      const shown = ops.carry(other);
      const peak = Math.max(...other.highestBytes);
      expect(Math.max(...shown.highestBytes)).toBe(peak);
      expect(shown.highestBytes[shown.peakOp]).toBe(peak);
      expect(shown.bytesByCategory.get("activation")).toEqual(shown.totalBytes);
      const highest = ops.highest(other);
      for (const [op, found] of match.entries()) {
        expect(shown.recomputations[op]).toBe(found < 0 ? 0 : found + 1);
        if (!given(found >= 0)) continue;
        // Everything up to the op is what an op up to it stands for.
        expect(Math.max(...highest.slice(0, op + 1).filter((bytes) => bytes >= 0))).toBeGreaterThanOrEqual(
          Math.max(...other.highestBytes.slice(0, found + 1)),
        );
        expect(highest[op]).toBeGreaterThanOrEqual(other.highestBytes[found]);
      }
      for (const [op, bytes] of highest.entries()) {
        expect(Number.isNaN(bytes) || bytes <= peak).toBe(true);
        expect(ops.opOf(op, other)).toBeLessThan(other.count);
      }
      expect(ops.opOf(-1, other)).toBe(-1);
    }),
  );
});
