import { storageUses } from "@remat/memory";
import { holdPlan } from "@remat/memory/sequence";
import { planOfTrace, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { planFateNames, planFates } from "../src/index.js";

/** Two layers forward, two backward. Everything is freed at the end, as in TensorFlow.js without remat. */
function stockStep(): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const make = (elements: number, category: number = Category.activation) => {
    const storage = b.allocate(4 * elements, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  const x = make(10, Category.input);
  const h = make(1000);
  b.op({ name: "MatMul", inputs: [x.tensor], outputs: [h.tensor], runtimeMs: 1 });
  const y = make(1000);
  b.op({ name: "Relu", inputs: [h.tensor], outputs: [y.tensor], runtimeMs: 0.1 });
  const dy = make(1000, Category.temporary);
  b.op({ name: "ReluGrad", phase: Phase.backward, inputs: [y.tensor], outputs: [dy.tensor], runtimeMs: 1 });
  const dx = make(10, Category.gradient);
  b.op({ name: "Sum", phase: Phase.backward, inputs: [dy.tensor], outputs: [dx.tensor], runtimeMs: 1 });
  for (const { storage } of [h, y, dy]) b.free(storage);
  return b.build();
}

const names = (fates: Uint8Array): string[] => Array.from(fates, (fate) => planFateNames[fate]);

it("tells what goes before the trace frees it from what stays", async () => {
  const trace = stockStep();
  const graph = planningGraphOfTrace(trace);
  const plan = planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes: 1e15, iterations: 0 }));
  // Sum is the last op: what it reads goes when it went, and its own result stays.
  expect(names(planFates(trace, plan))).toEqual(["freedEarly", "freedEarly", "kept", "kept"]);
});

describe.each(["mem_03_mlp_adam", "mem_04_cnn_adam"])("in %s", (name) => {
  it("are recomputed those ops that the plan runs again, and freed early only what the plan frees before the trace does", async () => {
    const golden = goldenFiles().find((file) => file.name === name)!;
    const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
    const graph = planningGraphOfTrace(trace);
    const plain = await rematerialize(graph, { budgetBytes: 1e15, iterations: 0 });
    const plan = planOfTrace(
      trace,
      graph,
      await rematerialize(graph, { budgetBytes: Math.ceil(0.9 * plain.peakBytes), iterations: 2000 }),
    );
    const fates = names(planFates(trace, plan));
    const again = new Set(plan.steps.flatMap(({ op, isRecomputed }) => (isRecomputed ? [op] : [])));
    expect(new Set(fates.flatMap((fate, op) => (fate === "recomputed" ? [op] : [])))).toEqual(again);
    for (const { op } of holdPlan(trace, plan).recomputed) expect(fates[op]).toBe("recomputed");
    const { freedBefore } = storageUses(trace);
    const freed = new Set(plan.steps.flatMap(({ free }) => free.flatMap((value) => ("op" in value ? [value.op] : []))));
    for (const [op, fate] of fates.entries())
      if (fate === "freedEarly") {
        expect(freed.has(op)).toBe(true);
        const storages = Array.from(trace.opOutputs(op)).flatMap((tensor) => [...trace.tensorStorages(tensor)]);
        expect(storages.some((storage) => freedBefore[storage] < 0 || freedBefore[storage] > op + 1)).toBe(true);
      }
  });
});
