import { Category, type Trace, TraceBuilder } from "@remat/trace";
import { expect, it } from "vitest";
import { StepGroup } from "../src/agent/record/step-group.js";

/** A step of one op of that name that makes so many bytes. */
function stepOf(name: string, bytes: number): { trace: Trace; opMs: Float64Array; stepMs: number } {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const storage = b.allocate(bytes, "cpu", Category.activation);
  b.op({ name, outputs: [b.tensor({ storage, dtype: "float32", shape: [bytes / 4] })] });
  b.free(storage);
  return { trace: b.build(), opMs: Float64Array.of(1), stepMs: 1 };
}

function summaryOf(...steps: readonly (readonly [name: string, bytes: number])[]) {
  const group = new StepGroup();
  for (const [name, bytes] of steps) group.add(stepOf(name, bytes));
  const { trace, alike, peakBytes, mostBytes } = group.summarize();
  return [trace.opName(0), alike, peakBytes, mostBytes];
}

it("is told by the kind of step that holds most, of those that came again", () => {
  // The last batch of an epoch is a smaller one.
  expect(summaryOf(["whole", 100], ["rest", 40])).toEqual(["whole", 1, 100, 100]);
  expect(summaryOf(["whole", 100], ["rest", 40], ["whole", 100], ["rest", 40], ["rest", 40])).toEqual([
    "whole",
    2,
    100,
    100,
  ]);
  // The first makes the optimizer's slots.
  expect(summaryOf(["first", 120], ["whole", 100], ["whole", 100])).toEqual(["whole", 2, 100, 120]);
});
