import { describe, expect, it } from "vitest";
import { isUnexplained } from "../src/tell-makers.js";

const perStep = (countPerPeriod: number) => ({ period: "step", countPerPeriod });

describe("a line beside one that leaks the same tensors for certain", () => {
  it("is not mentioned if the line that leaks explains all growth", () => {
    // An experience buffer that is full: 1 of 20 runs mentioned it.
    expect(isUnexplained(perStep(0.27), perStep(0.82), [perStep(0.82)])).toBe(false);
    expect(isUnexplained(perStep(0.27), perStep(0.82), [perStep(0.77)])).toBe(false);
  });

  it("is mentioned if growth is left over, or if the lines grow by other periods", () => {
    expect(isUnexplained(perStep(4), perStep(24), [perStep(20)])).toBe(true);
    expect(isUnexplained(perStep(4), perStep(24), [perStep(22.67)])).toBe(true);
    expect(isUnexplained(perStep(0.27), perStep(0.82), [{ period: "predict", countPerPeriod: 0.82 }])).toBe(true);
  });
});
