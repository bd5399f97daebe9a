import type { FitUnit, StepsToFit } from "@remat/fit";
import { torchOptimizerCode } from "@remat/sharding";
import { here } from "../pricing-options.js";
import type { FitOptions } from "./fit-options.js";

/**
 * Returns notes on assumptions of a search that its table does not show.
 *
 * @param asked the options of the search
 * @param steps the model, or the recorded runs
 * @param grid everything that is searched
 */
export function notesOfSearch(
  { request }: Pick<FitOptions, "request">,
  steps: StepsToFit,
  grid: readonly FitUnit[],
): readonly string[] {
  return [
    ...describeReserve(request),
    ...describeScaling(steps),
    ...describeOptimizers(request.optimizers),
    ...describeUnjoined(grid),
  ];
}

/** Suggests `--reserve`, because a training process also uses memory for other things than tensors. */
function describeReserve({ devices, memoryBytes, reserveBytes }: FitOptions["request"]): readonly string[] {
  return memoryBytes !== undefined && reserveBytes === undefined && devices.some(({ name }) => name === here)
    ? ["all of --memory is used for tensors: --reserve 500MB keeps some of it for the process"]
    : [];
}

function describeScaling({ recordedBatches, residualBytes }: StepsToFit): readonly string[] {
  if (recordedBatches === undefined || recordedBatches.length < 2) return [];
  return [
    `scaled linearly from runs recorded at batches ${recordedBatches.join(", ")}, off by at most ${residualBytes ?? 0} bytes there`,
  ];
}

/** Describes optimizers other than the recorded one, with the code that a program needs for them. */
function describeOptimizers(optimizers: readonly string[] = []): readonly string[] {
  return optimizers.flatMap((name) => {
    const code = torchOptimizerCode(name);
    return code === undefined ? [] : [`${name}: ${code} instead of the recorded optimizer, by its state`];
  });
}

/** Names devices whose interconnect is unknown. */
function describeUnjoined(grid: readonly FitUnit[]): readonly string[] {
  const names = grid.flatMap(({ spec, network, configuration: { ranks } }) =>
    ranks > 1 && network === undefined && spec.network === undefined ? [spec.name] : [],
  );
  if (names.length === 0) return [];
  return [
    `ranks of ${[...new Set(names)].join(", ")} have no times, since their network is unknown: give --network, or network in the device file`,
  ];
}
