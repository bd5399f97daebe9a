import {
  defaultDevice,
  defaultDeviceHere,
  deviceSpec,
  deviceSpecs,
  type EstimateMode,
  estimateModes,
  parseDeviceSpec,
} from "@remat/runtime-estimator";
import { type DeviceSpec, parseJsonText, RematError } from "@remat/trace";
import { readInputText } from "@remat/trace/files";
import { resolveStep } from "@remat/tracer/step";
import { findCalibration } from "./calibration/calibration-file.js";
import { type OptionValues, option } from "./command.js";
import { parseText, quote, UsageError } from "./usage-error.js";
import { thisMachine } from "./verdict/this-machine.js";

/** The device name for this machine. */
export const here = "here";

/** The option of every command that estimates op times, even if only for the trace that it writes. */
export const deviceOption = option("--device <name>", {
  group: "device",
  access: "name or file",
  reads: true,
  parse: (name, value) => readDevice(parseText(name, value)),
  choices: [...Object.keys(deviceSpecs), here],
  purpose: `Device to estimate for: a name (a100, h100, rtx-4090, cpu, …), here for this machine, or a JSON file. Without this option, a trace keeps its measured times (default: ${defaultDevice})`,
});

/** For commands that report op times. */
export const pricingOptions = [
  deviceOption,
  option("--mode <mode>", {
    group: "rare",
    access: "code",
    choices: estimateModes,
    purpose:
      "Op times: operator-level-cost-model estimates them from the roofline of the device, operator-level-benchmark measures them here (default: operator-level-cost-model)",
  }),
];

/** How op times are obtained. */
export interface Pricing {
  /** A sentence for the user if the device is not what they may expect: this machine is not calibrated. */
  readonly note?: string | undefined;
  readonly mode: EstimateMode;
  readonly device: DeviceSpec;
  /** True if the device was requested. If not, times in a trace are kept. */
  readonly isAsked: boolean;
}

/**
 * Returns how op times are estimated. For this machine, they come from its calibration for the backend, if there is
 * one.
 *
 * @throws UsageError naming the option; RematError `DEVICE_FILE`
 */
export function pricingOf({
  backend = resolveStep().backend,
  ...options
}: Partial<OptionValues<typeof pricingOptions>> & { readonly backend?: string | undefined }): Pricing {
  const { mode = "operator-level-cost-model", device } = options;
  if (device?.name === here && device.calibration === undefined && mode === "operator-level-cost-model") {
    const { device: calibrated, note } = findCalibration(backend);
    return { mode, device: deviceHere(calibrated), isAsked: true, note };
  }
  // If ops are timed, only those that cannot run here are estimated.
  const usual = mode === "operator-level-benchmark" ? defaultDeviceHere : defaultDevice;
  return { mode, device: device ?? readDevice(usual), isAsked: device !== undefined };
}

/**
 * Returns a device by name, this machine, or one from a JSON file.
 *
 * @throws UsageError for an unknown name; RematError `DEVICE_FILE`
 */
export function readDevice(nameOrPath: string): DeviceSpec {
  if (nameOrPath === here) return deviceHere();
  if (!nameOrPath.endsWith(".json")) return deviceByName(nameOrPath);
  let text: string;
  try {
    text = readInputText(nameOrPath);
  } catch (cause) {
    throw new RematError(
      "DEVICE_FILE",
      `${nameOrPath}: cannot be read (${(cause as Error).message}). Name a JSON file with the device's figures.`,
      { cause },
    );
  }
  try {
    return parseDeviceSpec(parseJsonText(text) as never);
  } catch (cause) {
    const { message } = cause as Error;
    const wrong =
      cause instanceof RematError ? message : `not JSON (${message}). Name a file with the device's figures.`;
    throw new RematError("DEVICE_FILE", `${nameOrPath}: ${wrong}`, { cause });
  }
}

/** Returns this machine, with the speeds of its calibration if there is one. */
function deviceHere(calibrated?: DeviceSpec): DeviceSpec {
  return { ...deviceByName(defaultDeviceHere), ...calibrated, ...thisMachine(), name: here };
}

function deviceByName(name: string): DeviceSpec {
  try {
    return deviceSpec(name);
  } catch {
    const known = Object.keys(deviceSpecs).join(", ");
    throw new UsageError(
      `unknown device ${quote(name)}. Choose one of ${known}, ${here} for this machine, or a JSON file with your own.`,
    );
  }
}
