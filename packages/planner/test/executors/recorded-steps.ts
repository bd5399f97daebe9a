import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Trace } from "@remat/trace";

export interface RecordedPolicy {
  /** For each module, the ops that it saves; empty for full checkpointing. */
  readonly units: Readonly<Record<string, readonly { readonly op: string; readonly ordinal: number }[]>>;
  /** For each module, the parts of each call that are recomputed, as positions among its ops. */
  readonly parts?: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  /** The step's peak under the policy according to PyTorch's MemTracker; undefined if PyTorch rejects it. */
  readonly peak?: number;
  readonly refused?: true;
}

export interface RecordedCase {
  readonly step: { readonly case: string };
  readonly plain: number;
  readonly policies: readonly RecordedPolicy[];
}

/**
 * Random small models under random policies, including nested and selective ones and parts of modules. Written by
 * `tooling/pytorch-exporter/test/checkpoint_cases.py`.
 */
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
