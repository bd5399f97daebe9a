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

/** Written by `tooling/pytorch-exporter/test/checkpoint_cases.py`: random small models under random policies, nested and selective ones and parts of modules among them. */
const fixture = new URL("../fixtures/checkpoint-cases.json.gz", import.meta.url);

export const recordedCases: readonly RecordedCase[] = JSON.parse(gunzipSync(readFileSync(fixture)).toString()).cases;

/** A step of {@link recordedCases}, priced for a GPU. */
export function pricedStep({ step }: RecordedCase): Trace {
  return priceTrace(readPyTorchTrace(step), deviceSpec("a100"));
}
