import { formatError } from "@remat/reporting";
import type { DocumentPart, OutputDocument } from "@remat/reporting/formats";
import { kernelClasses } from "@remat/runtime-estimator";
import type { CalibratedDevice } from "@remat/runtime-estimator/calibrate";
import type { KernelSpeed } from "@remat/trace";

/** A calibrated device, and its file. */
export interface Calibrated {
  readonly device: CalibratedDevice;
  readonly path: string;
  /** True if `--device here` uses it, without a file name. */
  readonly isHere: boolean;
}

/** Returns the result of `remat calibrate`: the speed of each class of kernels. The records have one row per kernel. */
export function calibrationDocument({ device, path, isHere }: Calibrated): OutputDocument {
  const { calibration } = device;
  const kernels = Object.entries(device.kernels);
  const classes = kernelClasses.flatMap((name) => {
    const speed = device.kernels[name];
    return speed === undefined ? [] : [[name, speed] as const];
  });
  const names = new Set(kernels.map(([key]) => key.split("/")[0]).filter((key) => !kernelClasses.includes(key)));
  return {
    parts: () => [
      text(
        `Calibrated ${calibration.backend} (${calibration.backendVersion}) on ${calibration.machine}.`,
        `Half of all calls were predicted within ${formatError(calibration.error)} by a fit that had not seen them.`,
      ),
      {
        kind: "table",
        title: `Speed by class, from ${names.size} kernels`,
        headers: ["Class", "GFLOP/s", "GB/s", "GB/s beyond cache", "Launch µs", "Error"],
        rows: classes.map(([name, speed]) => [name, ...cellsOf(speed)]),
      },
      text(
        `TensorFlow.js adds ${calibration.dispatchUs.toFixed(1)} µs to each op.`,
        ...calibration.notes.map((note) => `note: ${note}`),
      ),
      text(
        isHere ? `Saved as ${path}. --device here now uses it.` : `Written to ${path}. Use it with --device ${path}.`,
      ),
    ],
    records: () => ({
      columns: ["kernel", "gflops", "memoryGBps", "beyondCacheGBps", "launchUs", "error", "calls"],
      rows: kernels.map(([kernel, { tflops, memoryGBps, beyondCacheGBps, launchUs, error, calls }]) => [
        kernel,
        tflops === undefined ? undefined : 1e3 * tflops,
        memoryGBps,
        beyondCacheGBps,
        launchUs,
        error,
        calls,
      ]),
    }),
    value: () => ({ path, device }),
  };
}

/** A rate that is left out does not limit the class. */
function cellsOf({ tflops, memoryGBps, beyondCacheGBps, launchUs, error }: KernelSpeed): readonly string[] {
  const rate = (value: number | undefined) => (value === undefined ? "-" : String(Number(value.toPrecision(2))));
  return [
    rate(tflops === undefined ? undefined : 1e3 * tflops),
    rate(memoryGBps),
    rate(beyondCacheGBps),
    launchUs.toFixed(1),
    formatError(error),
  ];
}

const text = (...lines: readonly string[]): DocumentPart => ({ kind: "text", lines });
