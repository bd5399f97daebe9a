import { describe, expect, it } from "vitest";
import { judgeGraph } from "../../src/verdict/index.js";

const command = "remat plan graph.json --budget 80%";

describe("the verdict on a graph", () => {
  it("is its peak in order and as planned, where there is no budget", () => {
    expect(judgeGraph({ inOrderPeakBytes: 2000, planned: { peakBytes: 1500, overhead: 0 } }, { command })).toEqual({
      facts: [
        "Peak memory in the given order is 1.953 KiB.",
        "Planned: 1.465 KiB (75.0%), no slowdown.",
        "Next:",
        command,
      ],
      command,
    });
  });

  it("says by how much it does not fit, and that the plan does", () => {
    const judged = judgeGraph({
      inOrderPeakBytes: 2048,
      budgetBytes: 1024,
      planned: { peakBytes: 1024, overhead: 0.125 },
    });
    expect(judged).toEqual({
      facts: [
        "Does not fit: peak memory in the given order is 2 KiB, the budget is 1 KiB, 1 KiB too much.",
        "Planned: 1 KiB (50.0%), 12.5% more cost. This fits.",
      ],
      command: undefined,
      fits: false,
    });
  });

  it("says that the smallest found does not fit either", () => {
    const { facts, fits } = judgeGraph({ inOrderPeakBytes: 2048, budgetBytes: 1000, planned: { peakBytes: 1024 } });
    expect(facts[1]).toBe("Smallest found: 1 KiB (50.0%). This does not fit either.");
    expect(fits).toBe(false);
  });

  it("fits to the byte", () => {
    const judge = (budgetBytes: number) =>
      judgeGraph({ inOrderPeakBytes: 2048, budgetBytes, planned: { peakBytes: 2048 } });
    expect(judge(2048)).toMatchObject({
      facts: ["Fits: peak memory in the given order is 2 KiB, the budget is 2 KiB.", "Planned: 2 KiB (100.0%)."],
      fits: true,
    });
    expect(judge(2047)).toMatchObject({ fits: false });
  });

  it("writes sizes in the unit that was asked for, and has no share of nothing", () => {
    const { facts } = judgeGraph({ inOrderPeakBytes: 0, planned: { peakBytes: 0 } }, { units: "KiB" });
    expect(facts).toEqual(["Peak memory in the given order is 0.0 KiB.", "Planned: 0.0 KiB."]);
  });
});
