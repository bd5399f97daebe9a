import { deviceSpec } from "@remat/runtime-estimator";
import { RematError } from "@remat/trace";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type FitAnswer, type FitStep, type FitUnit, fitUnitBatch, type StepsToFit } from "../src/index.js";
import type { PlanBound } from "../src/ways/fit-way.js";
import { fitWay } from "../src/ways/fit-ways.js";

afterEach(() => vi.restoreAllMocks());

/** Steps by their batch. A step of n samples takes n bytes and n ms by default. */
type Table = Readonly<Record<number, Partial<FitStep>>>;
interface Scripted extends StepsToFit {
  readonly table: Table;
  readonly bounds?: Readonly<Record<number, PlanBound>>;
}

const stepsOf = (table: Table = {}, more: Partial<Scripted> = {}): Scripted => ({
  name: "net",
  framework: "pytorch",
  stepAt: () => Promise.reject(new Error("no step is traced")),
  table,
  ...more,
});

/** The batches and efforts that were planned, of the steps themselves and of scaled ones. */
function script(way: "stock" | "recompute"): { readonly real: number[][]; readonly scaled: number[][] } {
  const asked = { real: [] as number[][], scaled: [] as number[][] };
  vi.spyOn(fitWay(way), "stepWith").mockImplementation(async (_, steps, batch, effort = 1) => {
    const { name, table } = steps as Scripted;
    asked[name === "scaled" ? "scaled" : "real"].push([batch, effort]);
    return {
      batch,
      peakBytes: batch,
      bytesByCategory: { activation: batch },
      stepMs: batch,
      overhead: 0,
      ...table[batch],
    };
  });
  if (way === "recompute") {
    vi.spyOn(fitWay(way), "refuses").mockReturnValue(undefined);
    vi.spyOn(fitWay(way), "boundOf").mockImplementation(
      async (_, steps, batch) => (steps as Scripted).bounds?.[batch] ?? { leastBytes: 0, leastMs: batch },
    );
  }
  return asked;
}

type Given = Partial<Omit<FitUnit, "configuration">> & {
  readonly way?: "stock" | "recompute";
  readonly ranks?: number;
};

const unitOf = ({ way = "stock", ranks = 1, ...given }: Given = {}): FitUnit => ({
  configuration: { device: "a100", precision: "f32", way, ranks },
  spec: deviceSpec("a100"),
  memoryBytes: 10,
  batches: [2, 4, 8],
  maxOverhead: 0.5,
  objective: "throughput",
  ...{ iterations: 1, seed: 0, morePlans: 0, efforts: [] },
  ...given,
});

const rowOf = (answer: FitAnswer) => {
  if (answer.kind !== "fits") throw new Error(`expected a batch, found ${answer.kind}`);
  return answer.row;
};

describe("a step in one pass, beside steps in several", () => {
  const asked: Given = { globalBatch: 8 };

  it.each([
    // With gradients of earlier passes, 4 samples take more than 8 do in one pass.
    ["throughput", { 2: { stepMs: 8 }, 4: { stepMs: 8 }, 8: { stepMs: 7 } }, 8],
    ["throughput", { 2: { stepMs: 9 }, 4: { stepMs: 6 }, 8: { stepMs: 7 } }, 4],
    ["throughput", { 2: { stepMs: 9 }, 4: { stepMs: 7 }, 8: { stepMs: 7 } }, 8],
    ["throughput", { 2: { peakBytes: 11 }, 4: { peakBytes: 11 } }, 8],
    ["throughput", { 2: { stepMs: 8 }, 4: { stepMs: 8 }, 8: { stepMs: 1, peakBytes: 11 } }, 4],
    // Without times, more samples per pass are better.
    ["throughput", { 2: { stepMs: undefined }, 4: { stepMs: undefined }, 8: { stepMs: undefined } }, 8],
    ["memory", { 2: { peakBytes: 6 }, 8: { peakBytes: 7 } }, 2],
    ["memory", { 2: { peakBytes: 8 }, 8: { peakBytes: 7 } }, 8],
    ["batch", { 4: { stepMs: 1 } }, 8],
    ["batch", { 8: { peakBytes: 11 } }, 4],
    ["throughput", { 4: { peakBytes: 11 }, 8: { peakBytes: 11 } }, 2],
  ] as const)("is the answer to %s of %j: %s", async (objective, table, batch) => {
    script("stock");
    const row = rowOf(await fitUnitBatch(unitOf({ ...asked, objective }), stepsOf(table)));
    expect(row).toMatchObject({ batch, microBatches: 8 / batch });
    // The last batch already makes up a whole step.
    expect(row).not.toHaveProperty("endsRange");
  });

  it("is not tried with others if the largest batch takes several", async () => {
    const { real } = script("stock");
    expect(rowOf(await fitUnitBatch(unitOf({ globalBatch: 16 }), stepsOf())).microBatches).toBe(2);
    expect(real[0]).toEqual([2, 1]);
  });
});

describe("the range of batches", () => {
  it.each([
    [[2, 4, 8], 8, true],
    [[4, 8], 8, true],
    [[2, 4, 16], 4, undefined],
    [[8], 8, undefined],
  ])("%j ends at %s, so larger ones may fit: %s", async (batches, batch, endsRange) => {
    script("stock");
    const row = rowOf(await fitUnitBatch(unitOf({ batches }), stepsOf()));
    expect([row.batch, row.endsRange]).toEqual([batch, endsRange]);
    expect(row.memoryBytes).toBe(10);
  });

  it.each([
    [[3, 5, 6], "no batch of 3, 5, 6 on one device makes up 16 samples"],
    [[3, 5, 6, 7], "no batch of 3 to 7 on one device makes up 16 samples"],
  ])("%j is named if it makes up no step", async (batches, reason) => {
    expect(await fitUnitBatch(unitOf({ batches, globalBatch: 16 }), stepsOf())).toMatchObject({ reason });
  });
});

describe("TensorFlow.js, which updates weights after each pass,", () => {
  it("takes a step in one pass, though two would be faster", async () => {
    script("stock");
    const steps = stepsOf({ 4: { stepMs: 1 } }, { framework: "tfjs" });
    expect(rowOf(await fitUnitBatch(unitOf({ globalBatch: 8 }), steps))).toMatchObject({ batch: 8, microBatches: 1 });
    const reason = "on one device makes up 8 samples in one pass, and TensorFlow.js updates weights after every pass";
    expect(await fitUnitBatch(unitOf({ globalBatch: 8, batches: [2, 4] }), steps)).toMatchObject({
      ...{ kind: "refused", reason: expect.stringContaining(reason) },
    });
  });
});

describe("an error of a step", () => {
  const failing = (error: Error) => {
    vi.spyOn(fitWay("stock"), "stepWith").mockRejectedValue(error);
    return fitUnitBatch(unitOf(), stepsOf());
  };

  it.each(["SHARDING_PLAN", "TRACE_NO_BACKWARD"] as const)(
    "that says that it is impossible is an answer: %s",
    async (code) => {
      expect(await failing(new RematError(code, "no such step"))).toMatchObject({
        kind: "refused",
        reason: "no such step",
      });
    },
  );

  it.each([new RematError("DEVICE_FILE", "damaged"), new Error("TRACE_NO_BACKWARD")])(
    "of another kind is thrown: %s",
    async (error) => {
      await expect(failing(error)).rejects.toBe(error);
    },
  );
});

describe("memory of kernels beside tensors", () => {
  it("is taken from the room, and may be what a batch does not fit for", async () => {
    script("stock");
    const steps = stepsOf({}, { stepAt: async () => undefined as never, libraryBytesAt: async () => 3 });
    expect(rowOf(await fitUnitBatch(unitOf(), steps))).toMatchObject({
      ...{ batch: 4, peakBytes: 4, libraryBytes: 3, memoryBytes: 7 },
      next: { batch: 8, peakBytes: 8, libraryBytes: 3, isProven: true, binds: "activation", bindsBytes: 8 },
    });
  });
});

describe("a batch that does not fit", () => {
  it("does so for its time if memory is enough", async () => {
    script("stock");
    const steps = stepsOf({ 2: { overhead: 0.51, peakBytes: 10 } });
    expect(await fitUnitBatch(unitOf({ batches: [2] }), steps)).toMatchObject({
      smallest: { batch: 2, isProven: true, binds: "time", bindsBytes: 0 },
    });
    expect(rowOf(await fitUnitBatch(unitOf(), stepsOf({ 2: { overhead: 0.5 } }))).batch).toBe(8);
  });

  it("names the category that takes most", async () => {
    script("stock");
    const bytesByCategory = { input: 1, activation: 7, gradient: 6 };
    const steps = stepsOf({ 1: { peakBytes: 14, bytesByCategory } });
    expect(await fitUnitBatch(unitOf({ batches: [1] }), steps)).toMatchObject({
      ...{ kind: "not-fitting", smallest: { batch: 1, binds: "activation", bindsBytes: 7 } },
    });
  });

  it("leaves open those between the largest with a plan and the smallest proven to have none", async () => {
    script("recompute");
    const bounds = { 16: { leastBytes: 11, leastMs: 16 } };
    const batches = [2, 4, 8, 12, 16];
    const found = await fitUnitBatch(
      unitOf({ way: "recompute", batches, objective: "batch" }),
      stepsOf({ 8: { peakBytes: 11 } }, { bounds }),
    );
    expect(rowOf(found)).toMatchObject({
      batch: 4,
      next: { batch: 8, isProven: false, unproven: { from: 8, to: 12 } },
    });
    const proven = { 8: { leastBytes: 11, leastMs: 8 }, 12: { leastBytes: 11, leastMs: 8 }, ...bounds };
    const { next } = rowOf(
      await fitUnitBatch(
        unitOf({ way: "recompute", batches, objective: "batch" }),
        stepsOf({ 8: { peakBytes: 11 } }, { bounds: proven }),
      ),
    );
    expect(next).toMatchObject({ batch: 8, isProven: true });
    expect(next).not.toHaveProperty("unproven");
  });
});

describe("the least memory of a planned strategy", () => {
  const asked: Given = { way: "recompute", objective: "memory", efforts: [2, 8] };
  const over = { peakBytes: 11 };

  it("is that of the smallest batch", async () => {
    const { real } = script("recompute");
    expect(rowOf(await fitUnitBatch(unitOf(asked), stepsOf())).batch).toBe(2);
    expect(real).toEqual([[2, 1]]);
  });

  it("is looked for with more effort unless it is proven that there is no plan", async () => {
    const { real } = script("recompute");
    expect(await fitUnitBatch(unitOf(asked), stepsOf({ 2: over }))).toMatchObject({
      kind: "not-fitting",
      smallest: { batch: 2, isProven: false, unproven: { from: 2, to: 8 } },
    });
    expect(real.map(([, effort]) => effort)).toEqual([1, 2, 8]);
    real.length = 0;
    const least = { leastBytes: 11, leastMs: 1 };
    const bounds = { 2: least, 4: least, 8: least };
    expect(await fitUnitBatch(unitOf(asked), stepsOf({ 2: over }, { bounds }))).toMatchObject({
      kind: "not-fitting",
      smallest: { batch: 2, isProven: true },
    });
    expect(real).toEqual([[2, 1]]);
  });
});

describe("an answer of scaled steps", () => {
  /** The batches that are planned of the real steps, and the answer. */
  async function confirm(table: Table, scaledTable: Table, given: Given = {}, more: Partial<Scripted> = {}) {
    const asked = script(given.way ?? "stock");
    const scaled = async () => stepsOf(scaledTable, { name: "scaled", ...more });
    const answer = await fitUnitBatch(
      unitOf({ batches: [1, 2, 3, 4, 8], memoryBytes: 3, ...given }),
      stepsOf(table, { scaled }),
    );
    return { ...asked, answer };
  }
  const over = { peakBytes: 11 };

  it("is tried in real, with the next larger one", async () => {
    const { real, answer } = await confirm({}, {});
    expect(rowOf(answer)).toMatchObject({ batch: 3, next: { batch: 4 } });
    expect(real).toEqual([
      [3, 1],
      [4, 1],
    ]);
  });

  it.each([
    ["bytes", { 3: { peakBytes: 2.5 } }, {}],
    ["time", { 3: { overhead: 0.1 + 2e-9 } }, { 3: { overhead: 0.1 } }],
    ["what the next one takes", { 4: { peakBytes: 5 } }, {}],
  ])("counts for nothing if the real steps differ by %s", async (_, table, scaledTable) => {
    const { real, answer } = await confirm(table, scaledTable);
    expect(rowOf(answer)).toMatchObject({ batch: 3, ...(table as Table)[3] });
    expect(real.map(([batch]) => batch)).toContain(1);
  });

  it("counts if times differ by a rounding", async () => {
    const { real } = await confirm({ 3: { overhead: 0.1 + 5e-10 } }, { 3: { overhead: 0.1 } });
    expect(real.map(([batch]) => batch)).toEqual([3, 4]);
  });

  it("counts for nothing if no scaled step fits", async () => {
    const all = { 1: over, 2: over, 3: over, 4: over };
    const { real, answer } = await confirm({}, all);
    expect(rowOf(answer).batch).toBe(3);
    expect(real.map(([batch]) => batch)).toContain(1);
  });

  it("is tried with the effort that it took, and proves what it has proven of the real steps", async () => {
    const least = { leastBytes: 11, leastMs: 8 };
    const given: Given = { way: "recompute", objective: "batch", batches: [2, 4, 8], efforts: [4] };
    const asked = script("recompute");
    const steps = (bounds: Scripted["bounds"], name = "net", scaled?: StepsToFit["scaled"]): Scripted =>
      stepsOf({ 4: over }, { name, ...(bounds !== undefined && { bounds }), ...(scaled && { scaled }) });
    const scaled = async () => steps({ 8: least }, "scaled");
    expect(rowOf(await fitUnitBatch(unitOf(given), steps({ 8: least }, "net", scaled)))).toMatchObject({
      batch: 2,
      next: { batch: 4, unproven: { from: 4, to: 4 } },
    });
    expect(asked.real).toEqual([
      [2, 1],
      [4, 4],
    ]);
    // A bound that the real step does not confirm.
    asked.real.length = 0;
    const { next } = rowOf(
      await fitUnitBatch(unitOf(given), steps({ 8: { ...least, leastBytes: 10 } }, "net", scaled)),
    );
    expect(next).toBeUndefined();
    expect(asked.real.length).toBeGreaterThan(2);
  });
});
