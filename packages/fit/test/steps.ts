import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldensOf } from "@remat/testkit";
import type { RecordedRun } from "../src/index.js";

const file = new URL("../../memory/test/fixtures/sized-runs.json.gz", import.meta.url);
const { cases } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as {
  readonly cases: Readonly<Record<string, readonly { readonly size: number; readonly file: unknown }[]>>;
};

/** Runs of PyTorch, and the size at which each was recorded. */
export function sizedRuns(name: string): readonly (RecordedRun & { readonly size: number })[] {
  return cases[name].map(({ size, file: recorded }) => ({
    name: `${name}-${size}`,
    size,
    trace: readPyTorchTrace(recorded),
  }));
}

/** A step with what autograd saves, so that it can be checkpointed. */
export function plainRun(name = "plain-tf"): RecordedRun {
  const fixture = new URL(`../../sharding/test/fixtures/${name}.json.gz`, import.meta.url);
  return { name, trace: readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(fixture)).toString())) };
}

/** A golden of the memory tracker. */
export function goldenRun(name: string): RecordedRun {
  const { golden } = goldensOf("mem-oracle/1").find((each) => each.file.name === name)!;
  return { name, trace: readPyTorchTrace(golden) };
}
