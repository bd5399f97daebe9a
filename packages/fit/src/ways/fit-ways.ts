import type { FitWayName } from "../fit-unit.js";
import { earlyReleaseWay, updateInBackwardWay } from "./early-release.js";
import type { FitWay } from "./fit-way.js";
import { offloadWay, recomputeWay } from "./planned.js";
import { stockWay } from "./stock.js";

/** All ways to take a step, in the order in which they change least. To add one: its name, its file, and a line here. */
export const fitWays: readonly FitWay[] = [stockWay, earlyReleaseWay, updateInBackwardWay, recomputeWay, offloadWay];

/** Returns the way of that name. */
export function fitWay(name: FitWayName): FitWay {
  return fitWays.find((way) => way.name === name) as FitWay;
}
