import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
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

interface RecordedPolicy {
  /** By module, the ops that it saves; none for full checkpointing. */
  readonly units: Readonly<Record<string, readonly { readonly op: string; readonly ordinal: number }[]>>;
  /** What PyTorch's MemTracker says of the step under the policy; undefined where PyTorch refuses it. */
  readonly peak?: number;
  readonly refused?: true;
}

interface RecordedCase {
  readonly step: { readonly case: string };
  readonly plain: number;
  readonly policies: readonly RecordedPolicy[];
}

/** Written by `tooling/pytorch-exporter/test/checkpoint_cases.py`: random small models under random policies, nested and selective ones among them. */
const fixture = new URL("../fixtures/checkpoint-cases.json.gz", import.meta.url);
const { cases } = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as { cases: readonly RecordedCase[] };

describe.each(cases.map((one) => [one.step.case, one] as const))("model %s", (_, { step, plain, policies }) => {
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
