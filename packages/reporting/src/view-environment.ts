import { type DeviceCalibration, type DeviceSpec, runtimeSourceNames, type Trace, traceNotes } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import { formatError } from "./time-quality.js";

/** A fact about a run, and its source if that is not obvious. */
export interface EnvironmentFact {
  readonly name: string;
  readonly value: string;
  /** The source or meaning of the value. */
  readonly how?: string;
}

/** Facts under a heading. */
export interface EnvironmentGroup {
  readonly title: string;
  readonly facts: readonly EnvironmentFact[];
}

/** Options of {@link viewEnvironment}. */
export interface EnvironmentOptions {
  /** The device that op times were estimated for. */
  readonly pricedFor?: DeviceSpec | undefined;
  /** The tool that made the report, such as `remat 1.0.0`. */
  readonly madeBy?: string | undefined;
  /** The file or model that it was made from. */
  readonly source?: string | undefined;
  /** The method and settings with which plans were searched for. */
  readonly planning?: string | undefined;
}

const sourceTexts: Readonly<Record<string, string>> = {
  none: "ops without a time",
  roofline:
    "estimated by a roofline model (the larger of compute time and transfer time), or by the measured speeds of a calibrated device",
  measured: "measured: median of several runs of the op",
  imported: "from the recorded run",
};

/**
 * Returns the facts that a reader needs to judge a run's numbers: what ran, on which device, and how times and sizes
 * were obtained.
 *
 * @example
 * for (const { title, facts } of viewEnvironment(trace, { pricedFor: deviceSpec("a100") })) console.log(title, facts);
 */
export function viewEnvironment(trace: Trace, options: EnvironmentOptions = {}): readonly EnvironmentGroup[] {
  const { header } = trace;
  const { pricedFor } = options;
  const groups: EnvironmentGroup[] = [
    {
      title: "Run",
      facts: [
        ...fact("Model", header.model),
        ...fact("Source", options.source),
        ...fact("Framework", [header.framework, header.frameworkVersion].filter(Boolean).join(" ")),
        ...fact("Backend", header.backend),
        {
          name: "Mode",
          value: header.mode,
          how: header.mode === "fake" ? "shapes only: no kernel ran and nothing was allocated" : "kernels ran",
        },
        ...Object.entries(header.libraries ?? {}).map(([name, value]) => ({ name, value })),
        ...fact("Report made by", options.madeBy),
      ],
    },
    {
      title: "Memory",
      facts: [
        { name: "Device", value: header.device },
        {
          name: "Allocation unit",
          value: formatBytes(header.allocationUnitBytes),
          how: header.allocationUnitBytes > 1 ? "sizes are rounded up to a multiple of it" : "sizes are as requested",
        },
        {
          name: "Sizes",
          value: "live storages",
          how: "a storage counts from its allocation until it is freed; its views do not count again",
        },
        { name: "Storages", value: String(trace.storages.count) },
      ],
    },
    { title: "Time", facts: [...timeFacts(trace), ...(pricedFor === undefined ? [] : deviceFacts(pricedFor))] },
  ];
  if (options.planning !== undefined) groups.push({ title: "Plans", facts: fact("Search", options.planning) });
  const notes = traceNotes(trace);
  if (notes.length > 0) groups.push({ title: "Notes", facts: notes.map((value) => ({ name: "Note", value })) });
  return groups;
}

function fact(name: string, value: string | undefined): readonly EnvironmentFact[] {
  return value === undefined || value === "" ? [] : [{ name, value }];
}

function timeFacts(trace: Trace): readonly EnvironmentFact[] {
  const counts = new Int32Array(runtimeSourceNames.length);
  for (let op = 0; op < trace.ops.count; op++) counts[trace.ops.runtimeSource[op]]++;
  return runtimeSourceNames.flatMap((source, i) =>
    counts[i] === 0
      ? []
      : [{ name: `Times: ${source}`, value: `${counts[i]} of ${trace.ops.count} ops`, how: sourceTexts[source] }],
  );
}

function deviceFacts(device: DeviceSpec): readonly EnvironmentFact[] {
  return [
    { name: "Estimated for", value: device.name, ...(device.source !== undefined && { how: device.source }) },
    {
      name: "Peak throughput",
      value: Object.entries(device.tflops)
        .map(([dtype, tflops]) => `${dtype} ${tflops} TFLOP/s`)
        .join(", "),
    },
    { name: "Memory bandwidth", value: `${device.memoryGBps} GB/s` },
    ...(device.calibration === undefined
      ? []
      : [
          {
            name: "Calibrated",
            value: formatError(device.calibration.error),
            how: describeCalibration(device.calibration),
          },
        ]),
    ...(device.memoryBytes === undefined ? [] : [{ name: "Device memory", value: formatBytes(device.memoryBytes) }]),
  ];
}

function describeCalibration({ backend, backendVersion, machine, at }: DeviceCalibration): string {
  return `measured on ${backend} (${backendVersion}; ${machine}) on ${at.slice(0, 10)}`;
}
