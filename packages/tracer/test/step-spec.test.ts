import { describe, expect, it } from "vitest";
import { resolveStep } from "../src/step/index.js";

describe("resolveStep", () => {
  it("decides all that is left out", () => {
    expect(resolveStep()).toEqual({
      size: "full",
      optimizer: "sgd",
      seed: 0,
      backend: "tensorflow",
      allocationUnitBytes: 1,
      grouping: "auto",
      checkpointing: "given",
      predict: false,
      steps: 1,
      stepsBefore: 0,
    });
  });

  it.each([
    ["none", 0],
    ["sgd", 0],
    ["momentum", 1],
    ["adam", 1],
  ])("has the state of %s there from the start: %i steps before", (optimizer, stepsBefore) => {
    expect(resolveStep({ optimizer }).stepsBefore).toBe(stepsBefore);
    expect(resolveStep({ optimizer, steps: 3, stepsBefore: 2 })).toMatchObject({ steps: 3, stepsBefore: 2 });
  });

  it("takes a prediction for what updates nothing", () => {
    expect(resolveStep({ predict: true, optimizer: "none" })).toMatchObject({ optimizer: "none", stepsBefore: 0 });
  });

  it.each([
    [{ batch: 0 }, "batch: expected a whole number of at least 1, found 0"],
    [{ seed: 1.5 }, "seed: expected a whole number of at least 0, found 1.5"],
    [{ allocationUnitBytes: Number.NaN }, "allocationUnitBytes: expected"],
    [{ steps: 0 }, "steps: expected"],
    [{ stepsBefore: -1 }, "stepsBefore: expected"],
    [{ checkpointing: "off" as never }, 'checkpointing: expected given or free, found "off"'],
    [{ predict: true, optimizer: "adam" }, "a prediction's optimizer: not supported"],
    [{ predict: true, loss: "mean" }, "a prediction's loss: not supported"],
    [{ loss: "hinge" }, 'unknown loss "hinge"'],
    [{ optimizer: "lion" }, 'unknown optimizer "lion"'],
  ])("refuses %j", (request, message) => {
    expect(() => resolveStep(request)).toThrow(message);
  });
});
