import type { FitWayName } from "../fit-unit.js";
import { earlyReleaseWay, updateInBackwardWay } from "./early-release.js";
import type { FitWay } from "./fit-way.js";
import { offloadWay, recomputeWay } from "./planned.js";
import { stockWay } from "./stock.js";

/**
 * All strategies to run a step, from the one that changes the least to the one that changes the most. To add one, add
 * its name, its file and an entry here.
 */
export const fitWays: readonly FitWay[] = [stockWay, earlyReleaseWay, updateInBackwardWay, recomputeWay, offloadWay];

/** Returns the strategy with a name. */
export function fitWay(name: FitWayName): FitWay {
  return fitWays.find((way) => way.name === name) as FitWay;
}
