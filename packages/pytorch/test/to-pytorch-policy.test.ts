import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { EventKind, fingerprintOfOps, opOccurrences, Phase, type Plan, type PlanValue, type Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import {
  checkpointableModules,
  type PyTorchOpPolicy,
  readPyTorchTrace,
  toPyTorchPolicy,
  writePyTorchPolicy,
} from "../src/index.js";

/** Recorded by tooling/pytorch-exporter, with what PyTorch's own MemTracker said of the same step. */
const file = JSON.parse(
  gunzipSync(readFileSync(new URL("./fixtures/transformer-step.json.gz", import.meta.url))).toString("utf8"),
);
const trace = readPyTorchTrace(file);

/** Early release, but for the results of `freedOps`, which are freed after the forward pass and recomputed for the backward pass. */
function planWithout(of: Trace, freedOps: readonly number[]): Plan {
  const makers = new Map<number, PlanValue>();
  const lastForward = new Map<number, number>();
  const last = new Map<number, number>();
  const firstBackward = new Map<number, number>();
  for (let op = 0; op < of.ops.count; op++) {
    for (const tensor of of.opInputs(op))
      for (const storage of of.tensorStorages(tensor)) {
        last.set(storage, op);
        if (of.ops.phase[op] === Phase.forward) lastForward.set(storage, op);
        else if (!firstBackward.has(storage)) firstBackward.set(storage, op);
      }
    of.opOutputs(op).forEach((tensor, output) => {
      for (const storage of of.tensorStorages(tensor))
        if (!makers.has(storage) && !last.has(storage)) {
          makers.set(storage, { op, output });
          lastForward.set(storage, op);
          last.set(storage, op);
        }
    });
  }
  const freeAfter = new Map<number, PlanValue[]>();
  const recomputedBefore = new Map<number, number[]>();
  const add = <T>(to: Map<number, T[]>, key: number, value: T) => to.set(key, [...(to.get(key) ?? []), value]);
  for (const [storage, value] of makers) {
    if (!("op" in value)) continue;
    const backward = firstBackward.get(storage);
    if (freedOps.includes(value.op) && backward !== undefined) {
      add(freeAfter, lastForward.get(storage)!, value);
      add(recomputedBefore, backward, value.op);
    }
    add(freeAfter, last.get(storage)!, value);
  }
  const ops = opOccurrences(of);
  return {
    subject: { kind: "trace", name: "transformer", framework: "pytorch", fingerprint: fingerprintOfOps(ops) },
    origin: { method: "by hand", budgetBytes: 1, order: "fixed" },
    predicted: { peakBytes: 1, cost: 1, overhead: 0, lowerBound: 1, gap: 0, plain: { peakBytes: 1, cost: 1 } },
    ops,
    sources: [],
    steps: ops.flatMap((_, op) => [
      ...(recomputedBefore.get(op) ?? []).map((again) => ({ op: again, isRecomputed: true, free: [] })),
      { op, isRecomputed: false, free: freeAfter.get(op) ?? [] },
    ]),
  };
}

const forwardOps = (fqn: string, name: string) =>
  Array.from({ length: trace.ops.count }, (_, op) => op).filter(
    (op) =>
      trace.ops.phase[op] === Phase.forward &&
      trace.opName(op) === name &&
      trace.opModule(op)?.fqn.startsWith(fqn) === true,
  );

const policyIn = (ops: readonly PyTorchOpPolicy[], op: string) =>
  ops.filter((entry) => entry.op === op).map(({ policy }) => policy);

describe("readPyTorchTrace of a step that tooling/pytorch-exporter recorded", () => {
  it("holds at most what PyTorch's tracker said", () => {
    const bytes = new Map<number, number>();
    let held = 0;
    let peak = 0;
    for (let e = 0; e < trace.events.count; e++) {
      const storage = trace.events.subject[e];
      const kind = trace.events.kind[e];
      if (kind === EventKind.op) peak = Math.max(peak, held);
      if (kind !== EventKind.allocate && kind !== EventKind.free && kind !== EventKind.resize) continue;
      const now =
        kind === EventKind.allocate
          ? trace.storages.bytes[storage]
          : kind === EventKind.resize
            ? trace.events.value[e]
            : 0;
      held += now - (bytes.get(storage) ?? 0);
      bytes.set(storage, now);
    }
    expect(peak).toBe(file.results.peak.Total);
    expect(trace.header).toMatchObject({ framework: "pytorch", mode: "fake", model: "transformer", device: "cpu" });
  });

  it("knows the phase and the module of every op, and what autograd saves", () => {
    const count = (phase: number) => trace.ops.phase.filter((one) => one === phase).length;
    for (const phase of [Phase.forward, Phase.backward, Phase.optimizer]) expect(count(phase)).toBeGreaterThan(50);
    for (const op of [...forwardOps("Transformer.layers.1", "aten.gelu.default")]) {
      const calls = Array.from(trace.opCalls(op), (call) => trace.modules[trace.calls.module[call]].fqn);
      expect(calls).toEqual(["Transformer", "Transformer.layers.1"]);
    }
    const backwardOfGelu = Array.from({ length: trace.ops.count }, (_, op) => op).filter(
      (op) => trace.opName(op) === "aten.gelu_backward.default",
    );
    expect(backwardOfGelu.map((op) => trace.opModule(op)?.fqn)).toEqual(
      [2, 1, 0].map((i) => `Transformer.layers.${i}`),
    );
    expect(trace.saves.count).toBeGreaterThan(50);
  });
});

describe("toPyTorchPolicy", () => {
  it("recomputes what the plan does, and saves what it holds for the backward pass", () => {
    const gelus = forwardOps("Transformer.layers.0", "aten.gelu.default");
    const { format, model, fingerprint, modules } = toPyTorchPolicy(planWithout(trace, gelus), trace);
    expect({ format, model, names: Object.keys(modules) }).toEqual({
      format: "remat-pytorch-policy/1",
      model: "transformer",
      names: ["layers.0"],
    });
    expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
    const ops = modules["layers.0"];
    expect(policyIn(ops, "aten.gelu.default")).toEqual(["PREFER_RECOMPUTE"]);
    expect(policyIn(ops, "aten.native_layer_norm.default")).toEqual(["MUST_SAVE", "MUST_SAVE"]);
    expect(policyIn(ops, "aten._softmax.default")).toEqual(["MUST_SAVE"]);
    // Its result is only added to: no backward op reads it.
    expect(policyIn(ops, "aten.addmm.default").at(-1)).toBe("PREFER_RECOMPUTE");
    expect(ops.map(({ op, ordinal }) => `${op} ${ordinal}`)).toMatchSnapshot();
  });

  it("never saves views, nor what is written in place", () => {
    const everything = Array.from({ length: trace.ops.count }, (_, op) => op);
    const { modules } = toPyTorchPolicy(planWithout(trace, forwardOps("Transformer", "aten.gelu.default")), trace);
    expect(Object.keys(modules)).toEqual(["layers.0", "layers.1", "layers.2"]);
    for (const ops of Object.values(modules))
      for (const name of ["aten.view.default", "aten.t.default", "aten.bernoulli_.float", "aten.empty_like.default"]) {
        expect(policyIn(ops, name).length).toBeGreaterThan(0);
        expect(new Set(policyIn(ops, name))).toEqual(new Set(["PREFER_RECOMPUTE"]));
      }
    const all = toPyTorchPolicy(planWithout(trace, everything), trace).modules["layers.1"];
    expect(all.every(({ policy }) => policy === "PREFER_RECOMPUTE")).toBe(true);
  });

  it("leaves modules alone of which nothing is recomputed", () => {
    expect(toPyTorchPolicy(planWithout(trace, []), trace).modules).toEqual({});
  });

  it("checkpoints the modules that are named, by either name", () => {
    const plan = planWithout(trace, forwardOps("Transformer", "aten.gelu.default"));
    expect(checkpointableModules(trace)).toEqual([0, 1, 2].map((i) => `Transformer.layers.${i}`));
    const named = (...modules: string[]) => Object.keys(toPyTorchPolicy(plan, trace, { modules }).modules);
    expect(named("layers.2", "Transformer.layers.0")).toEqual(["layers.2", "layers.0"]);
    expect(named("Transformer")).toEqual([""]);
    expect(() => named("layers.9")).toThrow('no module "layers.9" runs in this trace. Name one of Transformer');
    expect(() => named("Transformer", "layers.0")).toThrow("is inside Transformer, which is checkpointed as a whole");
  });

  it("is written as JSON, an op a line", () => {
    for (const freedOps of [[], forwardOps("Transformer", "aten.gelu.default")]) {
      const policy = toPyTorchPolicy(planWithout(trace, freedOps), trace);
      expect(JSON.parse(writePyTorchPolicy(policy))).toEqual(policy);
    }
  });

  it("refuses a plan of another trace, and a trace of another framework", () => {
    const plan = planWithout(trace, []);
    expect(() => toPyTorchPolicy({ ...plan, ops: plan.ops.slice(1) }, trace)).toThrow("op 0 is planned as");
    const other = trace.withHeader({ ...trace.header, framework: "tfjs" });
    expect(() => toPyTorchPolicy(plan, other)).toThrow("the trace is of tfjs, not of pytorch");
  });
});
