import type { FitWayName } from "../fit-unit.js";
import { earlyReleaseWay, updateInBackwardWay } from "./early-release.js";
import type { FitWay } from "./fit-way.js";
import { offloadWay, recomputeWay } from "./planned.js";
import { stockWay } from "./stock.js";

/**
 * All ways to run a step, in the order of how much they change. To add one, add its name, its file and an entry here.
 */
export const fitWays: readonly FitWay[] = [stockWay, earlyReleaseWay, updateInBackwardWay, recomputeWay, offloadWay];

/** Returns the way with a name. */
export function fitWay(name: FitWayName): FitWay {
  return fitWays.find((way) => way.name === name) as FitWay;
}
