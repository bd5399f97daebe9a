import { type DeviceToFit, deviceToFit } from "@remat/reporting/verdict";
import { allocationUnits, deviceSpec, deviceSpecs, priceTrace } from "@remat/runtime-estimator";
import { type DeviceSpec, RuntimeSource, type Trace } from "@remat/trace";

/** Device to estimate times for, and how memory is counted. */
export interface Settings {
  /** The device that op times are estimated for. Undefined: the runtimes of the trace. */
  readonly device: DeviceSpec | undefined;
  /** The device that the step has to fit on if no other is chosen. */
  readonly meantFor: DeviceToFit;
  /** Allocations are rounded up to a multiple of this. Undefined: the device's or the trace's unit. */
  readonly allocationUnitBytes: number | undefined;
  /** Number of ranks that weights are sharded over (FSDP). 1: no sharding. */
  readonly worldSize: number;
  /** Sharding in the syntax of `--fsdp` after `world=N`: `wrap='layers.*',bf16,no-reshard`; empty: the default. */
  readonly sharding: string;
}

/** The device that a trace is opened for, and whether the user requested it. */
export interface GivenDevice {
  readonly device: DeviceSpec;
  readonly isDeviceAsked: boolean;
}

/** Returns the device that the step should fit on, and whether that is only the default. */
export function deviceOfSettings({ device, meantFor }: Pick<Settings, "device" | "meantFor">): DeviceToFit {
  const isStillDefault = meantFor.isDefault === true && device?.name === meantFor.name;
  return device === undefined || isStillDefault ? meantFor : device;
}

/** Returns whether the trace itself has op times: measured, or read from elsewhere. */
export function hasOwnRuntimes(trace: Trace): boolean {
  return trace.ops.runtimeSource.some(
    (source) => source === RuntimeSource.measured || source === RuntimeSource.imported,
  );
}

/** Returns the initial settings for a trace: its own runtimes if it has any, otherwise `device`. */
export function initialSettings(trace: Trace, { device, isDeviceAsked }: GivenDevice): Settings {
  return {
    device: hasOwnRuntimes(trace) ? undefined : device,
    meantFor: deviceToFit(trace, device, isDeviceAsked),
    allocationUnitBytes: undefined,
    worldSize: 1,
    sharding: "",
  };
}

/** Returns the trace under the settings except for sharding: with op times and its allocation unit. */
export function applySettings(trace: Trace, { device, allocationUnitBytes }: Settings): Trace {
  const { header } = trace;
  const unit = allocationUnitBytes ?? header.allocationUnitBytes;
  const counted =
    unit === header.allocationUnitBytes ? trace : trace.withHeader({ ...header, allocationUnitBytes: unit });
  return device === undefined ? counted : priceTrace(counted, device);
}

/**
 * Returns a device by name, or the given device itself.
 *
 * @throws RematError `DEVICE_UNKNOWN`
 */
export const specOf = (device: DeviceSpec | string): DeviceSpec =>
  typeof device === "string" ? deviceSpec(device) : device;

/** Devices to choose from, in the order in which they are offered. */
export const deviceChoices: readonly DeviceSpec[] = Object.values(deviceSpecs);

/** Allocation units to choose from. The first is the trace's own. */
export const unitChoices: readonly (number | undefined)[] = [
  undefined,
  ...new Set([1, 32, 64, 256, 512, 4096, 2 ** 21, ...Object.values(allocationUnits)].sort((a, b) => a - b)),
];

/** Sharding options to choose from. Others can be typed. */
export const shardingChoices: readonly string[] = ["", "no-reshard", "bf16", "bf16,no-reshard", "wrap="];

/** World sizes to choose from. */
export const worldSizeChoices: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
