import { heldPeak, memoryTimeline, readMemoryEvents } from "@remat/memory";
import {
  accountCheckpoints,
  type CheckpointableUnits,
  CheckpointedSteps,
  type CheckpointPolicy,
  CheckpointSimulator,
  callModes,
  checkpointableUnits,
  stepScript,
} from "@remat/memory/checkpointing";
import { readPyTorchTrace } from "@remat/pytorch";
import { Phase, type Trace } from "@remat/trace";
import { describe, expect, test } from "vitest";
import { type RecordedPolicy, recordedCases } from "./recorded-steps.js";

describe.each(recordedCases.map((one) => [one.step.case, one] as const))("model %s", (_, { step, plain, policies }) => {
  const trace = readPyTorchTrace(step);
  const script = stepScript(trace);
  const units = checkpointableUnits(script);
  const simulator = new CheckpointSimulator(script, units);
  const peakOf = (policy: CheckpointPolicy) => simulator.run(callModes(units, policy, trace.ops.count)).peakBytes;

  test("holds without checkpointing what was recorded, and what MemTracker says", () => {
    expect([peakOf([]), heldPeak(trace).peakBytes]).toEqual([plain, plain]);
  });

  test("holds under each policy what MemTracker says, and knows what PyTorch refuses", () => {
    for (const recorded of policies) {
      const policy = policyOf(trace, units, recorded);
      if (recorded.refused) expect(policy.some((unit) => isRefused(units, unit))).toBe(true);
      // A scalar or two: what MemTracker sees of Python's references is not what the recorder sees.
      else expect(Math.abs(peakOf(policy) / recorded.peak! - 1), JSON.stringify(recorded)).toBeLessThan(0.005);
    }
  });

  test("writes the step under each policy as a trace that holds as much, and reads nothing that is freed", () => {
    const steps = new CheckpointedSteps(trace);
    for (const recorded of policies) {
      if (recorded.refused) continue;
      const policy = policyOf(trace, units, recorded);
      const checkpointed = steps.under(policy, "checkpointed");
      expect(heldPeak(checkpointed).peakBytes, JSON.stringify(recorded)).toBe(peakOf(policy));
      expect(readsOfFreed(checkpointed), JSON.stringify(recorded)).toEqual([]);
    }
  });

  test("accounts for each policy by the ops and storages of the step without", () => {
    const steps = new CheckpointedSteps(trace);
    const plainly = accountCheckpoints(steps, []);
    const timeline = memoryTimeline(trace);
    expect(plainly.highestBytes).toEqual(timeline.highestBytes);
    expect(plainly.totalBytes).toEqual(timeline.totalBytes);
    expect(plainly.peakOp).toBe(timeline.peak.op);
    for (const recorded of policies) {
      if (recorded.refused) continue;
      const policy = policyOf(trace, units, recorded);
      const account = accountCheckpoints(steps, policy);
      const under = steps.under(policy, "");
      const { totalBytes, highestBytes, bytesByCategory } = memoryTimeline(under);
      const runs = Array.from({ length: under.ops.count }, (_, op) => op);
      const first = runs.filter((op) => under.ops.phase[op] !== Phase.recompute);
      expect(Array.from(account.totalBytes)).toEqual(first.map((op) => totalBytes[op]));
      expect(Array.from(account.highestBytes)).toEqual(
        first.map((op, i) => {
          const last = i === first.length - 1 ? under.ops.count - 1 : op;
          return Math.max(...highestBytes.subarray((first[i - 1] ?? -1) + 1, last + 1));
        }),
      );
      expect([...account.bytesByCategory.keys()].sort()).toEqual([...bytesByCategory.keys()].sort());
      for (const [category, bytes] of bytesByCategory)
        expect(Array.from(account.bytesByCategory.get(category)!)).toEqual(first.map((op) => bytes[op]));
      expect(account.peakBytes).toBe(peakOf(policy));
      expect(Math.max(...account.highestBytes)).toBe(account.peakBytes);
      expect(account.recomputations.some((times) => times > 0)).toBe(replays(under) > 0);
      for (const op of [-1, 0, trace.ops.count >> 1, trace.ops.count - 1]) {
        const held = account.heldAt(op);
        const bytes = held.bytes.reduce((sum, each) => sum + each, 0);
        expect(bytes).toBe(op < 0 ? account.peakBytes : account.totalBytes[op]);
        held.storage.forEach((storage, i) => expect(held.bytes[i]).toBe(trace.storages.bytes[storage]));
        for (const maker of held.maker) expect(maker).toBeLessThan(trace.ops.count);
      }
    }
  });
});

const replays = ({ ops }: Trace): number => ops.phase.filter((phase) => phase === Phase.recompute).length;

interface RecordedOps {
  readonly funcs: readonly { readonly name: string }[];
  readonly events: readonly { readonly f?: number }[];
}

test("refuses parts that begin between what makes a tensor and what draws numbers into it", () => {
  const draws = "aten.bernoulli_.float";
  const step = recordedCases
    .map((one) => one.step as unknown as RecordedOps)
    .find(({ funcs }) => funcs.some(({ name }) => name === draws))!;
  // Of a mask that nothing writes into but that.
  const events = step.events.filter(({ f }) => f === undefined || step.funcs[f].name !== "aten.div_.Scalar");
  const trace = readPyTorchTrace({ ...step, events });
  const units = checkpointableUnits(stepScript(trace));
  const call = units.callsOf.get(trace.modules[trace.calls.module[0]].fqn)![0];
  const ops = units.opsOf[call];
  const places = ops.flatMap((op, place) => (trace.opName(op) === draws ? [place] : []));
  expect(places.length).toBeGreaterThan(0);
  for (const place of places) {
    expect(units.partOf(call, place - 1, ops.length)).toMatchObject({ call });
    expect(units.partOf(call, place, ops.length)).toBe(`${draws} writes into what it is given`);
  }
});

function readsOfFreed(trace: Trace): string[] {
  const live = new Set<number>();
  const found: string[] = [];
  readMemoryEvents(trace, {
    allocate: (storage) => live.add(storage),
    free: (storage) => live.delete(storage),
    op(op) {
      for (const tensor of [...trace.opInputs(op), ...trace.opOutputs(op)])
        if (!live.has(trace.tensors.storage[tensor])) found.push(trace.opName(op));
    },
  });
  return found;
}

function policyOf(
  trace: Trace,
  units: CheckpointableUnits,
  { units: given, parts = {} }: RecordedPolicy,
): CheckpointPolicy {
  return [
    ...Object.entries(given).map(([name, save]) => unitOf(trace, units, name, save)),
    ...Object.entries(parts).flatMap(([name, pairs]) =>
      pairs.map((ops) => ({ ...unitOf(trace, units, name, []), ops })),
    ),
  ];
}

function isRefused(units: CheckpointableUnits, { fqn, ops }: CheckpointPolicy[number]): boolean {
  if (ops === undefined) return units.refused.has(fqn);
  return units.callsOf.get(fqn)!.some((call) => typeof units.partOf(call, ...ops) === "string");
}

function unitOf(
  trace: Trace,
  units: CheckpointableUnits,
  name: string,
  save: RecordedPolicy["units"][string],
): CheckpointPolicy[number] {
  const root = trace.modules[trace.calls.module[0]].fqn;
  const fqn = name === "" ? root : `${root}.${name}`;
  const count = new Map<string, number>();
  const saved = units.opsOf[units.callsOf.get(fqn)![0]].flatMap((op, place) => {
    const ordinal = count.get(trace.opName(op)) ?? 0;
    count.set(trace.opName(op), ordinal + 1);
    return save.some((one) => one.op === trace.opName(op) && one.ordinal === ordinal) ? [place] : [];
  });
  return { fqn, saved };
}
