import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Trace } from "@remat/trace";

export interface RecordedPolicy {
  /** By module, the ops that it saves; none for full checkpointing. */
  readonly units: Readonly<Record<string, readonly { readonly op: string; readonly ordinal: number }[]>>;
  /** By module, the parts of each call that run again: places among its ops. */
  readonly parts?: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  /** What PyTorch's MemTracker says of the step under the policy; undefined where PyTorch refuses it. */
  readonly peak?: number;
  readonly refused?: true;
}

export interface RecordedCase {
  readonly step: { readonly case: string };
  readonly plain: number;
  readonly policies: readonly RecordedPolicy[];
}

/** Random small models under random policies, nested and selective ones and parts of modules among them. `tooling/pytorch-exporter/test/checkpoint_cases.py` writes them. */
export const recordedCases: readonly RecordedCase[] = readCases("checkpoint-cases");

/** Gradient penalties, inner loops and products with a Hessian, under random policies. `tooling/pytorch-exporter/test/twice_cases.py` writes them. */
export const twiceDifferentiated: readonly RecordedCase[] = readCases("twice-cases");

function readCases(name: string): readonly RecordedCase[] {
  const fixture = new URL(`../fixtures/${name}.json.gz`, import.meta.url);
  return JSON.parse(gunzipSync(readFileSync(fixture)).toString()).cases;
}

/** A step of {@link recordedCases}, priced for a GPU. */
export function pricedStep({ step }: RecordedCase): Trace {
  return priceTrace(readPyTorchTrace(step), deviceSpec("a100"));
}
