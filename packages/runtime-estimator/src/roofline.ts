import type { DeviceSpec } from "@remat/trace";
import type { CostOptions, OpCost } from "./op-call.js";

/** Share of a device's peak throughput that a kernel can reach in the roofline model (PyTorch's figure). */
const achievableShare = 0.75;

/**
 * Returns the minimum time of an op on `device` in milliseconds: the time to move its bytes at full bandwidth, or the
 * time to compute, whichever is longer. The time to compute is that of its FLOPs at 75% of the peak of its dtype. A
 * dtype without a figure counts as `float32`, and a peak of 0 means no bound.
 *
 * PyTorch computes with half of the FLOPs, so its compute-bound ops run at 150% of the peak. With `asPytorch`, results
 * equal PyTorch's, because the order of arithmetic is the same: torch/utils/_runtime_estimation.py and
 * `_roofline_estimate` of torch/distributed/_tools/runtime_estimator.py (2.13).
 *
 * @example
 * rooflineMs({ flops: 2e12, bytesRead: 8e6, bytesWritten: 8e6, dtype: "float32" }, deviceSpec("a100")); // 136.8 ms
 */
export function rooflineMs(cost: OpCost, device: DeviceSpec, { asPytorch = false }: CostOptions = {}): number {
  const transferNs = (cost.bytesRead + cost.bytesWritten) / device.memoryGBps;
  const peak = (device.tflops[cost.dtype] ?? device.tflops["float32"] ?? 0) * 1e12;
  const flops = asPytorch ? cost.flops / 2 : cost.flops;
  const computeNs = peak === 0 ? 0 : (flops / (achievableShare * peak)) * 1e9;
  return Math.max(transferNs, computeNs) / 1e6;
}
