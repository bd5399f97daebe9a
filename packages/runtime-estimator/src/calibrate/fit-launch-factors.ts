import { type DeviceCalibration, type KernelSpeed, type PhaseName, phaseNames, type Trace } from "@remat/trace";
import { speedOf } from "../calibrated/calibrated-ms.js";
import { opCallOf } from "../op-signatures.js";

/**
 * Returns the ratio of measured times to the launch costs of the kernels, for each phase of a step of tiny ops. Ops of
 * a training step are recomputed in the backward pass, so they get its factor.
 *
 * @internal
 */
export function fitLaunchFactors(
  timed: Trace,
  kernels: Readonly<Record<string, KernelSpeed>>,
): NonNullable<DeviceCalibration["launchFactors"]> {
  const measured = phaseNames.map(() => 0);
  const expected = phaseNames.map(() => 0);
  for (let op = 0; op < timed.ops.count; op++) {
    const speed = speedOf(opCallOf(timed, op), kernels);
    if (speed === undefined) continue;
    measured[timed.ops.phase[op]] += timed.ops.runtimeMs[op];
    expected[timed.ops.phase[op]] += speed.launchUs / 1e3;
  }
  const factors = new Map<PhaseName, number>();
  for (const [phase, name] of phaseNames.entries())
    if (measured[phase] > 0 && expected[phase] > 0) factors.set(name, measured[phase] / expected[phase]);
  const backward = factors.get("backward");
  if (backward !== undefined) factors.set("recompute", backward);
  return Object.fromEntries(factors);
}
