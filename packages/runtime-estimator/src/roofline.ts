import type { DeviceSpec } from "@remat/trace";
import type { OpCost } from "./op-call.js";

/** Share of a device's peak throughput that a kernel can reach in the roofline model (PyTorch's figure). */
const achievableShare = 0.75;

/**
 * Returns the minimum time of an op on `device` in milliseconds: the time to move its bytes at full bandwidth, or the
 * time to compute, whichever is longer. The time to compute is that of half its FLOPs (PyTorch counts multiply-adds
 * here) at 75% of the peak of its dtype. A dtype without a figure counts as `float32`, and a peak of 0 means no bound.
 *
 * The order of arithmetic is the same as in PyTorch, so results are equal: torch/utils/_runtime_estimation.py and
 * `_roofline_estimate` of torch/distributed/_tools/runtime_estimator.py (2.13).
 *
 * @example
 * rooflineMs({ flops: 2e12, bytesRead: 8e6, bytesWritten: 8e6, dtype: "float32" }, deviceSpec("a100")); // 68.4 ms
 */
export function rooflineMs(cost: OpCost, device: DeviceSpec): number {
  const transferNs = (cost.bytesRead + cost.bytesWritten) / device.memoryGBps;
  const peak = (device.tflops[cost.dtype] ?? device.tflops["float32"] ?? 0) * 1e12;
  const computeNs = peak === 0 ? 0 : (cost.flops / 2 / (achievableShare * peak)) * 1e9;
  return Math.max(transferNs, computeNs) / 1e6;
}
