import { type DeviceToFit, deviceToFit } from "@remat/reporting/verdict";
import { allocationUnits, deviceSpec, deviceSpecs, priceTrace } from "@remat/runtime-estimator";
import { type DeviceSpec, RuntimeSource, type Trace } from "@remat/trace";

/** For what a trace is priced, and how its memory is counted. */
export interface Settings {
  /** The device that ops are priced for; undefined: the runtimes that the trace came with. */
  readonly device: DeviceSpec | undefined;
  /** The device whose memory the step is to fit where no other is chosen. */
  readonly meantFor: DeviceToFit;
  /** Allocations are rounded up to a multiple of this; undefined: as the device, or the trace, has it. */
  readonly allocationUnitBytes: number | undefined;
  /** Ranks over which weights are sharded (FSDP); 1: none. */
  readonly worldSize: number;
  /** How ranks shard, as `--fsdp` takes it behind `world=N`: `wrap='layers.*',bf16,no-reshard`; empty: as is usual. */
  readonly sharding: string;
}

/** The device that a trace is opened for, and whether that was asked for. */
export interface GivenDevice {
  readonly device: DeviceSpec;
  readonly isDeviceAsked: boolean;
}

/** Tells whether the trace itself says how long ops took: measured, or read from elsewhere. */
export function hasOwnRuntimes(trace: Trace): boolean {
  return trace.ops.runtimeSource.some(
    (source) => source === RuntimeSource.measured || source === RuntimeSource.imported,
  );
}

/** Returns what a trace is first shown with: its own runtimes where it has them, else `device`. */
export function initialSettings(trace: Trace, { device, isDeviceAsked }: GivenDevice): Settings {
  return {
    device: hasOwnRuntimes(trace) ? undefined : device,
    meantFor: deviceToFit(trace, device, isDeviceAsked),
    allocationUnitBytes: undefined,
    worldSize: 1,
    sharding: "",
  };
}

/** Returns the trace as it is under the settings, apart from sharding: priced, and with its allocation unit. */
export function applySettings(trace: Trace, { device, allocationUnitBytes }: Settings): Trace {
  const { header } = trace;
  const unit = allocationUnitBytes ?? header.allocationUnitBytes;
  const counted =
    unit === header.allocationUnitBytes ? trace : trace.withHeader({ ...header, allocationUnitBytes: unit });
  return device === undefined ? counted : priceTrace(counted, device);
}

/** Returns the device that is meant by a name, or is given itself. @throws RematError `DEVICE_UNKNOWN` */
export const specOf = (device: DeviceSpec | string): DeviceSpec =>
  typeof device === "string" ? deviceSpec(device) : device;

/** Devices to choose from, in the order in which they are offered. */
export const deviceChoices: readonly DeviceSpec[] = Object.values(deviceSpecs);

/** Allocation units to choose from; the first is what the trace has. */
export const unitChoices: readonly (number | undefined)[] = [
  undefined,
  ...new Set([1, 32, 64, 256, 512, 4096, 2 ** 21, ...Object.values(allocationUnits)].sort((a, b) => a - b)),
];

/** Ways to shard to choose from; others can be typed. */
export const shardingChoices: readonly string[] = ["", "no-reshard", "bf16", "bf16,no-reshard", "wrap="];

/** World sizes to choose from. */
export const worldSizeChoices: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
