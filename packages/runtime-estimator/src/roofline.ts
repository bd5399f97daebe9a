import type { DeviceSpec } from "@remat/trace";
import type { CostOptions, OpCost } from "./op-call.js";

/** Share of a device's peak throughput that a kernel reaches, if the device does not say (PyTorch's figure). */
const usualShare = 0.75;

/** Options of {@link rooflineMs}. */
export interface RooflineOptions extends CostOptions {
  /** The framework whose host code launches the op. Without it, launching takes no time, as in compiled code. */
  readonly framework?: string | undefined;
}

/**
 * Returns the time of an op on `device` in milliseconds. It is the longest of three times: to move its bytes at the
 * achievable bandwidth, to compute its FLOPs at the achievable share of the peak of its dtype, and for the host to
 * launch it. A dtype without a figure counts as `float32`, and a peak of 0 means no bound. An op that moves no data
 * takes no time.
 *
 * With `asPytorch`, results equal PyTorch's: half of the FLOPs at 75% of the peak, the nominal bandwidth, no launch
 * costs, and the same order of arithmetic (torch/utils/_runtime_estimation.py and `_roofline_estimate` of
 * torch/distributed/_tools/runtime_estimator.py, 2.13).
 *
 * @example
 * rooflineMs({ flops: 2e12, bytesRead: 8e6, bytesWritten: 8e6, dtype: "float32" }, deviceSpec("a100")); // 118 ms
 */
export function rooflineMs(
  cost: OpCost,
  device: DeviceSpec,
  { asPytorch = false, framework }: RooflineOptions = {},
): number {
  const { compute = usualShare, memory = 1 } = asPytorch ? {} : (device.achievable ?? {});
  const bytes = cost.bytesRead + cost.bytesWritten;
  const transferNs = bytes / (memory * device.memoryGBps);
  const peak = (device.tflops[cost.dtype] ?? device.tflops["float32"] ?? 0) * 1e12;
  const flops = asPytorch ? cost.flops / 2 : cost.flops;
  const computeNs = peak === 0 ? 0 : (flops / (compute * peak)) * 1e9;
  const isLaunched = !asPytorch && framework !== undefined && bytes + flops > 0;
  const launchNs = isLaunched ? 1000 * (device.launchUs?.[framework] ?? 0) : 0;
  return Math.max(transferNs, computeNs, launchNs) / 1e6;
}
