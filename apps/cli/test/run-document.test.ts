import { writeDocument } from "@remat/reporting";
import { expect, it } from "vitest";
import { runDocument } from "../src/run/run-document.js";
import type { RunSummary } from "../src/run/run-summary.js";

const predicted = {
  peakBytes: 12e6,
  bytesByCategory: { parameter: 2e6, activation: 10e6 },
  stepMs: 5,
  ops: 7,
  recomputedOps: 0,
};
const summary: RunSummary = {
  model: "net",
  wanted: "stock",
  budgetBytes: undefined,
  backend: "a backend",
  batch: 2,
  steps: 2,
  notes: ["a note"],
  restingBytes: 2e6,
  stock: predicted,
  predicted,
  measured: {
    ...predicted,
    residentBytes: 30e6,
    cpuMs: 6,
    stepMs: 4,
    recomputedOnTouch: 0,
  },
  losses: [1.5, Number.NaN],
  verification: {
    steps: 2,
    tensors: 8,
    isEqual: true,
    stockDiffers: undefined,
    difference: undefined,
    values: undefined,
  },
};

it("is a figure a row as csv, predicted beside measured", () => {
  expect(writeDocument(runDocument(summary), "csv").split("\r\n")).toEqual([
    "figure,predicted,measured",
    "peakBytes,12000000,12000000",
    "peakBytesOverResting,10000000,10000000",
    "peakBytes of parameter,2000000,2000000",
    "peakBytes of activation,10000000,10000000",
    "residentBytes,,30000000",
    "stepMs,5,4",
    "cpuMs,,6",
    "ops,7,7",
    "recomputedOps,0,0",
    "recomputedOnTouch,,0",
    "loss of step 1,,1.5",
    "loss of step 2,,NaN",
    "equal to stock,true,true",
    "",
  ]);
});

it("is a section a table as Markdown", () => {
  const text = writeDocument(runDocument(summary), "md");
  expect(text).toMatch(/^net, batch 2: 2 steps as they are\non a backend\nnote: a note\n\n\| /);
  expect(text).toMatch(/\| peak +\| 11\.44 MiB +\| 11\.44 MiB +\| 100\.0 % +\| equal to the byte +\|/);
  expect(text).toContain("## Held at the peak, by category\n\n| Category");
  expect(text).toContain("\n\nloss: 1.5, NaN\n\nverify: equal to stock bit for bit");
});

it("tells as JSON what it has no number for as text", () => {
  expect(JSON.parse(writeDocument(runDocument(summary), "json"))).toMatchObject({ losses: [1.5, "NaN"], batch: 2 });
});
