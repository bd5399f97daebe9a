import { countLifetimes, heldPeak, memoryTimeline, readMemoryEvents } from "@remat/memory";
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
import { OpFlag, Phase, type Trace } from "@remat/trace";
import { describe, expect, test } from "vitest";
import { type RecordedPolicy, recordedCases, twiceDifferentiated } from "./recorded-steps.js";

/** Steps on CUDA, whose kernels hold scratch, some of them: it goes with an op, which takes a millisecond here, and the others none. */
const scratchBytes = 98_317;
const casesWithScratch = recordedCases.slice(0, 6).map((one, i) => {
  const step = one.step as unknown as RecordedOps;
  const events = step.events.map((event, at) =>
    event.f === undefined ? event : (at + i) % 5 === 0 ? { ...event, ws: scratchBytes, ms: 1 } : { ...event, ms: 0 },
  );
  return { ...one, step: { ...one.step, events } };
});

describe.each(casesWithScratch.map((one) => [one.step.case, one] as const))(
  "scratch in model %s",
  (_, { step, policies }) => {
    const trace = readPyTorchTrace(step);
    const steps = new CheckpointedSteps(trace);
    const script = stepScript(trace);
    const units = checkpointableUnits(script);
    const simulator = new CheckpointSimulator(script, units);

    test("is held whenever its op runs, and only then", () => {
      for (const recorded of policies) {
        if (recorded.refused) continue;
        const policy = policyOf(trace, units, recorded);
        const { peakBytes } = simulator.run(callModes(units, policy, trace.ops.count));
        const under = steps.under(policy, "");
        expect(heldPeak(under).peakBytes, JSON.stringify(recorded)).toBe(peakBytes);
        expect(accountCheckpoints(steps, policy).peakBytes).toBe(peakBytes);
        const runs = under.ops.runtimeMs.filter((ms) => ms === 1).length;
        const pieces = Array.from(under.storages.bytes).filter((bytes) => bytes === scratchBytes).length;
        expect([pieces, countLifetimes(under).frees >= pieces]).toEqual([runs, true]);
      }
    });

    test("adds to the peak what is held beside it", () => {
      const plain = steps.under([], "");
      const without = readPyTorchTrace({
        ...step,
        events: step.events.map((event) => ({ ...event, ws: undefined })),
      });
      const most = memoryTimeline(without).totalBytes.reduce(
        (most, bytes, op) => Math.max(most, bytes + (trace.ops.runtimeMs[op] === 1 ? scratchBytes : 0)),
        0,
      );
      expect(heldPeak(plain).peakBytes).toBeGreaterThanOrEqual(most);
      expect(heldPeak(plain).peakBytes).toBeLessThanOrEqual(heldPeak(without).peakBytes + scratchBytes);
    });
  },
);

test("the host's work hides behind that of a device beside it, as far as it is ahead", () => {
  const { step, policies } = recordedCases.find((one) =>
    one.policies.some((policy) => !policy.refused && isOfWholeModules(policy)),
  )!;
  const recorded = policies.find((policy) => !policy.refused && isOfWholeModules(policy))!;
  const { config, events } = step as unknown as RecordedOps & { readonly config: object };
  const timed = { ...step, events: events.map((event) => (event.f === undefined ? event : { ...event, ms: 1 })) };
  const onHost = readPyTorchTrace(timed);
  const opCount = onHost.ops.count;
  const beside = (hostMs: number): Trace => readPyTorchTrace({ ...timed, config: { ...config, host_ms: hostMs } });
  const extra = (trace: Trace): readonly [recomputeMs: number, wholeMs: number] => {
    const script = stepScript(trace);
    const units = checkpointableUnits(script);
    const policy = policyOf(trace, units, recorded);
    const { recomputeMs, bookkeepingMs } = new CheckpointSimulator(script, units).run(
      callModes(units, policy, opCount),
    );
    return [recomputeMs, recomputeMs + bookkeepingMs];
  };
  const [recomputeMs, serialMs] = extra(onHost);
  const bookkeepingMs = serialMs - recomputeMs;
  expect(Math.min(recomputeMs, bookkeepingMs)).toBeGreaterThan(1);
  const [ofDevice, aheadMs] = extra(beside(opCount * 1e-3));
  expect(ofDevice).toBe(recomputeMs);
  // Only what comes before the device has anything to do: to enter the first module.
  expect(aheadMs - recomputeMs).toBeGreaterThanOrEqual(0);
  expect(aheadMs - recomputeMs).toBeLessThan(0.2); // 0.1
  expect(extra(beside(opCount))[1]).toBeGreaterThan(aheadMs);
  // The device waits for the host: what runs again takes what the host takes for it.
  const [, behindMs] = extra(beside(opCount * 3));
  // Off by 6e-13 ms, by rounding.
  expect(Math.abs(behindMs - (3 * recomputeMs + bookkeepingMs))).toBeLessThan(6e-12);
  // The overhead of checkpointing is that of the machine that timed the ops.
  const times = { frame: 1, selective: 0, save: 0, dispatch: 0, count: 0, rerun: 0 };
  const [, serialThereMs] = extra(readPyTorchTrace({ ...timed, config: { ...config, checkpoint_ms: times } }));
  const frames = serialThereMs - recomputeMs;
  expect([frames >= 2, Math.abs(frames - Math.round(frames)) < 1e-6]).toEqual([true, true]);
});

/** Modules alone, each as a whole. */
function isOfWholeModules({ units, parts }: RecordedPolicy): boolean {
  const saves = Object.values(units);
  return parts === undefined && saves.length > 0 && saves.every((save) => save.length === 0);
}

const allCases = [
  ...recordedCases.map((one) => [one.step.case, one] as const),
  ...twiceDifferentiated.map((one) => [`${one.step.case}, twice differentiated`, one] as const),
];

describe.each(allCases)("model %s", (_, { step, plain, policies }) => {
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
      // A scalar or two, 0.26% at most: MemTracker and the recorder see different Python references.
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

interface RecordedEvent {
  readonly e: string;
  readonly f?: number;
  readonly m?: number;
  readonly bw?: 1;
  readonly o?: unknown;
  readonly [key: string]: unknown;
}

interface RecordedStep {
  readonly fqns: readonly string[];
  readonly funcs: readonly { readonly name: string }[];
  readonly storages: readonly object[];
  readonly tensors: readonly object[];
  readonly events: readonly RecordedEvent[];
}

interface RecordedOps {
  readonly funcs: readonly { readonly name: string }[];
  readonly events: readonly { readonly f?: number }[];
}

test("refuses parts that begin between what makes a tensor and what draws numbers into it", () => {
  const draws = "aten.bernoulli_.float";
  const step = recordedCases
    .map((one) => one.step as unknown as RecordedOps)
    .find(({ funcs }) => funcs.some(({ name }) => name === draws))!;
  // For a mask that nothing else writes into.
  const events = step.events.filter(({ f }) => f === undefined || step.funcs[f].name !== "aten.div_.Scalar");
  const trace = readPyTorchTrace({ ...step, events });
  const units = checkpointableUnits(stepScript(trace));
  const call = units.callsOf.get(trace.modules[trace.calls.module[0]].fqn)![0];
  const ops = units.opsOf[call];
  const places = ops.flatMap((op, place) => (trace.opName(op) === draws ? [place] : []));
  expect(places.length).toBeGreaterThan(0);
  for (const place of places) {
    expect(units.partOf(call, place - 1, ops.length)).toMatchObject({ call });
    expect(units.partOf(call, place, ops.length)).toBe(`${draws} writes into one of its inputs`);
  }
});

test("keeps what an op with effects makes, so that the others of a part run again", () => {
  const recorded = recordedCases.find(({ step }) => step.case.includes("random"))!;
  const trace = readPyTorchTrace(recorded.step);
  const plain = checkpointableUnits(stepScript(trace));
  const [root] = plain.fqns;
  const [call] = plain.callsOf.get(root)!;
  const ops = plain.opsOf[call];
  const isPlain = (op: number) => (trace.ops.flags[op] & OpFlag.random) === 0;
  const whole = plain.partOf(call, 0, ops.length);
  if (typeof whole === "string") throw new Error(whole);
  const op = [...whole.rerun].find((one) => isPlain(one) && plain.madeBy(one).length > 0)!;
  trace.ops.flags[op] |= OpFlag.effectful;
  const units = checkpointableUnits(stepScript(trace));
  expect(units.partOf(call, 0, ops.length)).toBe(`${trace.opName(op)} does more than compute`);
  const kept = units.keptIn(call, 0, ops.length)!;
  expect(kept).toEqual([ops.indexOf(op)]);
  const part = units.partOf(call, 0, ops.length, kept);
  if (typeof part === "string") throw new Error(part);
  expect(part.rerun.has(op)).toBe(false);
  expect(plain.madeBy(op).some((storage) => part.made.has(storage))).toBe(false);
});

describe("modules that change what they start from", () => {
  const { step } = recordedCases.find((one) => {
    const { refused, callsOf } = checkpointableUnits(stepScript(readPyTorchTrace(one.step)));
    return refused.size < callsOf.size - 2;
  })!;
  const plain = step as unknown as RecordedStep;
  const plainly = checkpointableUnits(stepScript(readPyTorchTrace(step)));
  const root = plain.fqns[0];
  const [inner] = plainly.fqns.filter((fqn) => fqn !== root);
  const buffer = { before: { e: "ref", s: [plain.storages.length], r: "Buffer" }, tensor: `%${plain.tensors.length}` };
  const withEvents = (events: readonly RecordedEvent[]) =>
    checkpointableUnits(
      stepScript(
        readPyTorchTrace({
          ...plain,
          funcs: [...plain.funcs, { name: "aten.add.out" }],
          storages: [...plain.storages, { bytes: 16, dev: "cpu" }],
          tensors: [...plain.tensors, { s: plain.storages.length, dt: "float32", sh: [4], st: [1] }],
          events: [buffer.before, ...events],
        }),
      ),
    );
  const end = plain.events.findIndex((event) => event.e === "post_fw" && plain.fqns[event.m!] === inner);
  const start = plain.events.findIndex((event) => event.e === "pre_fw" && plain.fqns[event.m!] === inner) + 1;
  const bodyAt = plain.events.findIndex((event, at) => at > start && event.e === "hook_done") + 1;
  const insert = (at: number, ...added: RecordedEvent[]) => plain.events.toSpliced(at, 0, ...added);
  const writes = { e: "op", f: plain.funcs.length, a: [buffer.tensor, 1], k: {}, o: buffer.tensor };

  test.each([
    ["stateReplaced", "it replaces its own weights or buffers as it runs"],
    ["stateReplaced the buffer encoder.codes", "it replaces the buffer encoder.codes as it runs"],
    ["transformed", "it runs under a transform of torch.func"],
  ])("do not run again, nor do those around them, with the mark %s", (name, reason) => {
    const { refused, partOf, callsOf } = withEvents(insert(end, { e: "mark", name }));
    expect([...refused.keys()].filter((fqn) => !plainly.refused.has(fqn)).sort()).toEqual(
      plainly.fqns.filter((fqn) => fqn === inner || inner.startsWith(`${fqn}.`) || fqn === root).sort(),
    );
    expect([refused.get(inner), partOf(callsOf.get(root)![0], 0, 1000)]).toEqual([reason, reason]);
  });

  test("do not where an op is given what it writes its result into", () => {
    expect(withEvents(insert(end, writes)).refused.get(inner)).toBe(
      "aten.add.out writes into a tensor from outside the module",
    );
  });

  test("name the state that they change", () => {
    const written = insert(end, { e: "mark", name: "stateWritten the buffer a.codes" }, writes);
    expect(withEvents(written).refused.get(inner)).toBe("aten.add.out writes into the buffer a.codes");
    const changed = insert(
      end,
      { e: "mark", name: "stateChanged" },
      { e: "mark", name: "stateChanged the attribute a.n" },
    );
    expect(withEvents(changed).refused.get(inner)).toBe("its code changes the attribute a.n");
  });

  test("do not where what they read is written into before they may run again, whoever made it", () => {
    const first = plain.events.find((event) => event.e === "op")!;
    const from = insert(bodyAt, { ...first, a: [buffer.tensor] });
    const afterwards = from.findIndex((event) => event.bw === 1);
    expect(withEvents(from).refused.has(inner)).toBe(false);
    expect(withEvents(from.toSpliced(afterwards, 0, writes)).refused.get(inner)).toBe(
      "aten.add.out writes into one of its inputs",
    );
    // A manual update of weights.
    expect(withEvents([...from, writes]).refused.has(inner)).toBe(false);
  });
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
