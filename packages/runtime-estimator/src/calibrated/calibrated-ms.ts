import type { DeviceSpec, KernelSpeed } from "@remat/trace";
import type { OpCall, OpCost } from "../op-call.js";
import { speedKeys } from "./kernel-class.js";

/** Returns the measured speed that applies to a call, or undefined if there is none. */
export function speedOf(call: OpCall, kernels: Readonly<Record<string, KernelSpeed>>): KernelSpeed | undefined {
  const key = speedKeys(call).find((name) => Object.hasOwn(kernels, name));
  return key === undefined ? undefined : kernels[key];
}

/** Time of a call on a calibrated device, in milliseconds. */
export interface CalibratedTime {
  /** The launch of its kernel, which `launchFactors` changes. */
  readonly launchMs: number;
  /** Everything else: data, arithmetic, the framework around the op, and freeing its results. */
  readonly workMs: number;
}

/** Returns the time of a call by the measured speed of its kernel. Undefined if the device has no speed for it. */
export function calibratedTime(call: OpCall, cost: OpCost, device: DeviceSpec): CalibratedTime | undefined {
  const { kernels, calibration } = device;
  if (kernels === undefined || calibration === undefined) return undefined;
  const speed = speedOf(call, kernels);
  if (speed === undefined) return undefined;
  const { cacheBytes, dispatchUs, freeGBps } = calibration;
  const freeMs = freeGBps === undefined ? 0 : cost.bytesWritten / freeGBps / 1e6;
  return {
    launchMs: speed.launchUs / 1e3,
    workMs: dispatchUs / 1e3 + freeMs + launchedMs(speed, cost, cacheBytes),
  };
}

/** The figures of a kernel's speed that its time depends on. */
export type KernelRates = Omit<KernelSpeed, "error" | "calls">;

/** Returns the bytes of a call within the cache, and those beyond it. */
export function bytesByReach(
  { bytesRead, bytesWritten }: Pick<OpCost, "bytesRead" | "bytesWritten">,
  cacheBytes: number,
): readonly [near: number, beyond: number] {
  const bytes = bytesRead + bytesWritten;
  const near = Math.min(bytes, cacheBytes);
  return [near, bytes - near];
}

/** Returns the time of one call of a kernel in milliseconds, without the framework around it. */
export function kernelMs(rates: KernelRates, cost: Omit<OpCost, "dtype">, cacheBytes: number): number {
  return rates.launchUs / 1e3 + launchedMs(rates, cost, cacheBytes);
}

/** The time of a kernel after its launch. */
function launchedMs(
  { memoryGBps, beyondCacheGBps, tflops }: KernelRates,
  cost: Omit<OpCost, "dtype">,
  cacheBytes: number,
): number {
  const [near, beyond] = bytesByReach(cost, cacheBytes);
  return (
    (memoryGBps === undefined ? 0 : near / memoryGBps / 1e6) +
    (beyondCacheGBps === undefined ? 0 : beyond / beyondCacheGBps / 1e6) +
    (tflops === undefined ? 0 : cost.flops / tflops / 1e9)
  );
}
