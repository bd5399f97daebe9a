import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec } from "@remat/runtime-estimator";
import {
  type FitAnswer,
  type FitUnit,
  fitDocument,
  type StepsToFit,
  stepsOfRuns,
  summarizeFit,
  unitsOf,
} from "../../src/index.js";

/** The input of the units of a sweep. */
export interface SweepFiles {
  readonly runs: string;
}

export function sweepSteps({ runs }: SweepFiles): StepsToFit {
  const { cases } = JSON.parse(gunzipSync(readFileSync(runs)).toString()) as {
    readonly cases: { readonly convolutions_batch: readonly { readonly size: number; readonly file: unknown }[] };
  };
  return stepsOfRuns(
    cases.convolutions_batch
      .slice(0, 2)
      .map(({ size, file }) => ({ name: `convolutions-${size}`, trace: readPyTorchTrace(file) })),
  );
}

export function sweepKey({ runs }: SweepFiles): string {
  return createHash("sha256").update(readFileSync(runs)).digest("hex");
}

const devices = ["a100", "a100-40gb", "a100-pcie", "h100", "h100-pcie", "h100-nvl", "h200", "l4", "l40s", "t4"];

/** 200 configurations: some fit, some do not, some cannot be. */
export function sweepUnits(steps: StepsToFit): readonly FitUnit[] {
  return unitsOf(
    {
      devices: devices.map((name) => deviceSpec(name)),
      memoryBytes: 60_000,
      batches: [1, 2, 3, 5, 8, 13, 21],
      ways: ["stock", "offload"],
      ranks: [1, 2, 4, 8, 16],
      precisions: ["f32", "bf16"],
    },
    steps,
  );
}

/** Everything reported about a sweep. */
export function sweepTable(units: readonly FitUnit[], answers: readonly (FitAnswer | undefined)[]): string {
  const document = fitDocument(summarizeFit(units, answers, { model: "sweep", prices: { a100: 2, l4: 0.5 } }), {
    pricedBy: "roofline",
  });
  return JSON.stringify([document.parts(), document.records(), document.value()], undefined, 1);
}
