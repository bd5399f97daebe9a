import { heldPeak, storagesAfterOp } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { describeStorageLife, storageLives } from "../src/index.js";

const trace = readPyTorchTrace(readGolden(goldenFiles().find(({ name }) => name === "mem_03_mlp_adam")!));
const all = storageLives(trace, { from: 0, to: trace.ops.count + 1, limit: Number.POSITIVE_INFINITY });

describe("lives of storages", () => {
  it("are at each op those of what is held after it", () => {
    for (let op = 0; op < trace.ops.count; op += 3) {
      const held = storagesAfterOp(trace, op);
      const alive = all.filter(({ bornAt, freedBefore }) => bornAt <= op && freedBefore > op);
      expect(alive.map(({ storage }) => storage).toSorted((a, b) => a - b)).toEqual(Array.from(held.storage));
      expect(alive.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(held.totalBytes);
    }
    expect(heldPeak(trace).peakBytes).toBeGreaterThan(0);
  });

  it("begin with what an op makes, and then are the largest of a stretch", () => {
    const small = all.filter(({ isMade }) => isMade).at(-1)!;
    const found = storageLives(trace, { from: 5, to: 9, limit: 4, op: small.bornAt });
    expect(found[0].bornAt).toBe(small.bornAt);
    const rest = found.filter(({ bornAt }) => bornAt !== small.bornAt);
    for (const { bornAt, freedBefore } of rest) expect(bornAt < 9 && freedBefore > 5).toBe(true);
    for (let i = 1; i < rest.length; i++) expect(rest[i].bytes).toBeLessThanOrEqual(rest[i - 1].bytes);
    expect(found.length).toBeLessThanOrEqual(4);
  });

  it("are told from birth to death", () => {
    const told = (life: Partial<(typeof all)[number]>) =>
      describeStorageLife({ ...all[0], bornAt: 3, isMade: true, lastOp: 7, freedBefore: 20, ...life }, () => "mm");
    expect(told({})).toBe("allocated by op 3 mm, last used by op 7 mm, then kept alive for 12 more ops");
    expect(told({ freedBefore: 8 })).toBe("allocated by op 3 mm, last used by op 7 mm, then freed");
    expect(told({ isMade: false, lastOp: -1 })).toBe("existed before op 3, not allocated by an op, never used");
  });
});
