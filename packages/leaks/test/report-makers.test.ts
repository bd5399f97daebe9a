import { describe, expect, it } from "vitest";
import { isUnexplained } from "../src/report-makers.js";

describe("a line beside one that leaks the same tensors for certain", () => {
  it("is not mentioned if the line that leaks explains all growth", () => {
    // An experience buffer that is full: 1 of 20 runs mentioned it.
    expect(isUnexplained(0.27, 0.82, 0.82)).toBe(false);
    expect(isUnexplained(0.27, 0.82, 0.77)).toBe(false);
  });

  it("is mentioned if growth is left over", () => {
    expect(isUnexplained(4, 24, 20)).toBe(true);
    expect(isUnexplained(4, 24, 22.67)).toBe(true);
  });
});
