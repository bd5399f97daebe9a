import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import type { Trace } from "@remat/trace";
import { describe, expect, test } from "vitest";
import { callModes } from "../../src/executors/torch-checkpoint/call-modes.js";
import type { CheckpointPolicy } from "../../src/executors/torch-checkpoint/checkpoint-policy.js";
import {
  type CheckpointableUnits,
  checkpointableUnits,
} from "../../src/executors/torch-checkpoint/checkpointable-units.js";
import { CheckpointSimulator } from "../../src/executors/torch-checkpoint/simulate-checkpoints.js";
import { stepScript } from "../../src/executors/torch-checkpoint/step-script.js";
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
    for (const { units: given, peak, refused } of policies) {
      const policy = Object.entries(given).map(([name, save]) => unitOf(trace, units, name, save));
      if (refused) expect(policy.some(({ fqn }) => units.refused.has(fqn))).toBe(true);
      // A scalar or two: what MemTracker sees of Python's references is not what the recorder sees.
      else expect(Math.abs(peakOf(policy) / peak! - 1), JSON.stringify(given)).toBeLessThan(0.005);
    }
  });
});

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
