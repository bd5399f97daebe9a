import type { DeviceSpec, KernelSpeed } from "@remat/trace";
import type { OpCall, OpCost } from "../op-call.js";
import { speedKeys } from "./kernel-class.js";

/** Returns the measured speed that applies to a call, or undefined if the device has none. */
export function speedOf(call: OpCall, { kernels, calibration }: DeviceSpec): KernelSpeed | undefined {
  if (kernels === undefined || calibration === undefined) return undefined;
  const key = speedKeys(call).find((name) => Object.hasOwn(kernels, name));
  return key === undefined ? undefined : kernels[key];
}

/**
 * Returns the time of a call in milliseconds by the measured speed of its kernel, with the time of the framework around
 * it. Undefined if the device has no speed for it.
 */
export function calibratedMs(call: OpCall, cost: OpCost, device: DeviceSpec): number | undefined {
  const speed = speedOf(call, device);
  if (speed === undefined || device.calibration === undefined) return undefined;
  const { cacheBytes, dispatchUs } = device.calibration;
  return dispatchUs / 1e3 + kernelMs(speed, cost, cacheBytes);
}

/** Returns the time of one call of a kernel in milliseconds, without the framework around it. */
export function kernelMs(
  { launchUs, memoryGBps, beyondCacheGBps, tflops }: Pick<KernelSpeed, Exclude<keyof KernelSpeed, "error" | "calls">>,
  { flops, bytesRead, bytesWritten }: Omit<OpCost, "dtype">,
  cacheBytes: number,
): number {
  const bytes = bytesRead + bytesWritten;
  const near = Math.min(bytes, cacheBytes);
  return (
    launchUs / 1e3 +
    (memoryGBps === undefined ? 0 : near / memoryGBps / 1e6) +
    (beyondCacheGBps === undefined ? 0 : (bytes - near) / beyondCacheGBps / 1e6) +
    (tflops === undefined ? 0 : flops / tflops / 1e9)
  );
}
