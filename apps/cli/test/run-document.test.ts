import { writeDocument } from "@remat/reporting/formats";
import { judgeStep, withVerdict } from "@remat/reporting/verdict";
import { describe, expect, it } from "vitest";
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
    offloadedBytes: 0,
    reloadedBytes: 0,
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
  expect(text).toMatch(/^net, batch 2: 2 steps unmodified\non a backend\nnote: a note\n\n\| /);
  expect(text).toMatch(/\| peak memory +\| 11\.44 MiB +\| 11\.44 MiB +\| 100\.0% +\| exact +\|/);
  expect(text).toContain("## Peak memory by category\n\n| Category");
  expect(text).toContain("\n\nloss: 1.5, NaN\n\nverify: bitwise identical to the baseline");
});

it("tells as JSON what it has no number for as text", () => {
  expect(JSON.parse(writeDocument(runDocument(summary), "json"))).toMatchObject({ losses: [1.5, "NaN"], batch: 2 });
});

describe.each([60, 80, 120])("%i columns", (width) => {
  const largest = [
    {
      storage: 0,
      bytes: 8e6,
      category: "activation",
      dtype: "float32",
      shape: [2, 1000, 1000],
      maker: { op: 3, opName: "_FusedMatMul", module: "net.encoder.layers.0.attention.query_projection" },
    },
    { storage: 1, bytes: 2e6, category: "parameter", dtype: "float32", shape: [500, 1000], maker: undefined },
  ];
  const moment = { storageCount: 12, largest } as unknown as NonNullable<RunSummary["measured"]["moment"]>;
  const backend =
    "@tensorflow/tfjs-backend-wasm (neither @tensorflow/tfjs-node-gpu nor @tensorflow/tfjs-node works here: remat doctor says why)";
  const whole: RunSummary = {
    ...summary,
    wanted: "budget",
    budgetBytes: 12e6,
    backend,
    predicted: { ...predicted, peakBytes: 11e6, recomputedOps: 3 },
    stock: { ...predicted, peakBytes: 20e6 },
    measured: { ...summary.measured, peakBytes: 11e6, recomputedOps: 3, moment },
    notes: ["no loss in the model: using categorical cross-entropy, because the output is a softmax"],
  };
  const verdict = judgeStep(whole.stock, {
    device: { name: "this machine", memoryBytes: 2 ** 34 },
    outcome: { name: "measured", peakBytes: 11e6 },
    commandFor: () => "remat run model.json --batch 2 --budget 60% --verify",
  });
  it("of remat run", () => {
    const text = writeDocument(withVerdict(runDocument(whole), verdict), "table", { width });
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(width);
    expect(text).toMatchSnapshot();
  });
});
