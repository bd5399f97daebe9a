import {
  type DeviceCalibration,
  type DeviceNetwork,
  type DeviceSpec,
  type KernelSpeed,
  type PhaseName,
  parseJsonText,
  phaseNames,
  RematError,
} from "@remat/trace";
import { allocationUnits } from "./allocation-units.js";

const fields = [
  "name",
  "tflops",
  "memoryGBps",
  "achievable",
  "launchUs",
  "memoryBytes",
  "linkGBps",
  "network",
  "allocationUnitBytes",
  "pricePerHour",
  "oneDnn",
  "kernels",
  "calibration",
  "source",
];
const achievableFields = ["compute", "memory"];
const networkFields = ["perNode", "nodeGBps", "betweenGBps", "latencyUs"];
const speedFields = ["launchUs", "memoryGBps", "beyondCacheGBps", "tflops", "error", "calls"];
const calibrationFields =
  "backend backendVersion machine at cacheBytes dispatchUs freeGBps launchFactors error drift notes".split(" ");

/**
 * Parses your own device spec, from JSON text or a parsed value. `name`, `tflops` (TFLOP/s by dtype, at least
 * `float32`) and `memoryGBps` are required. The default of `allocationUnitBytes` is 1.
 *
 * @throws RematError `DEVICE_SPEC`, with the field, its value and the expected value
 * @example
 * parseDeviceSpec('{ "name": "my-gpu", "tflops": { "float32": 12.5 }, "memoryGBps": 448 }');
 */
export function parseDeviceSpec(json: unknown): DeviceSpec {
  const value = typeof json === "string" ? parseJson(json) : json;
  const record = expectObject("the spec", value);
  for (const field of Object.keys(record))
    if (!fields.includes(field)) fail(field, `expected one of the fields ${fields.join(", ")}`);
  const spec: { -readonly [K in keyof DeviceSpec]: DeviceSpec[K] } = {
    name: expectText("name", record["name"]),
    tflops: expectTflops(record["tflops"]),
    memoryGBps: expectNumber("memoryGBps", record["memoryGBps"], "GB/s above 0"),
    allocationUnitBytes: allocationUnits.host,
  };
  if (record["allocationUnitBytes"] !== undefined)
    spec.allocationUnitBytes = expectWhole("allocationUnitBytes", record["allocationUnitBytes"]);
  if (record["achievable"] !== undefined) spec.achievable = expectShares(record["achievable"]);
  if (record["launchUs"] !== undefined) spec.launchUs = expectLaunchCosts(record["launchUs"]);
  if (record["memoryBytes"] !== undefined) spec.memoryBytes = expectWhole("memoryBytes", record["memoryBytes"]);
  if (record["linkGBps"] !== undefined) spec.linkGBps = expectNumber("linkGBps", record["linkGBps"], "GB/s above 0");
  if (record["network"] !== undefined) spec.network = expectNetwork(record["network"]);
  if (record["pricePerHour"] !== undefined)
    spec.pricePerHour = expectNumber("pricePerHour", record["pricePerHour"], "a price above 0");
  if (record["oneDnn"] !== undefined) spec.oneDnn = expectFlag("oneDnn", record["oneDnn"]);
  if ((record["kernels"] === undefined) !== (record["calibration"] === undefined))
    fail("calibration", "expected together with 'kernels', as remat calibrate writes them");
  if (record["kernels"] !== undefined) {
    spec.kernels = expectKernels(record["kernels"]);
    spec.calibration = expectCalibration(record["calibration"]);
  }
  if (record["source"] !== undefined) spec.source = expectText("source", record["source"]);
  return spec;
}

function parseJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (cause) {
    throw new RematError("DEVICE_SPEC", `device spec: expected JSON, found ${quote(text)}`, { cause });
  }
}

function expectTflops(value: unknown): Readonly<Record<string, number>> {
  const record = expectObject("tflops", value);
  if (record["float32"] === undefined)
    fail("tflops.float32", "found nothing, expected TFLOP/s above 0: it is the default for other dtypes");
  for (const [dtype, peak] of Object.entries(record)) expectNumber(`tflops.${dtype}`, peak, "TFLOP/s above 0");
  return record as Readonly<Record<string, number>>;
}

function expectShares(value: unknown): NonNullable<DeviceSpec["achievable"]> {
  const record = expectObject("achievable", value);
  for (const [name, share] of Object.entries(record)) {
    if (!achievableFields.includes(name))
      fail(`achievable.${name}`, `expected one of the fields ${achievableFields.join(", ")}`);
    if (expectNumber(`achievable.${name}`, share, "a share above 0, at most 1") > 1)
      fail(`achievable.${name}`, `found ${quote(share)}, expected a share above 0, at most 1`);
  }
  return record as NonNullable<DeviceSpec["achievable"]>;
}

function expectLaunchCosts(value: unknown): Readonly<Record<string, number>> {
  const record = expectObject("launchUs", value);
  for (const [framework, us] of Object.entries(record))
    expectNumber(`launchUs.${framework}`, us, "microseconds above 0");
  return record as Readonly<Record<string, number>>;
}

function expectObject(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    fail(field, `found ${quote(value)}, expected an object`);
  return value as Readonly<Record<string, unknown>>;
}

function expectNetwork(value: unknown): DeviceNetwork {
  const record = expectFields("network", value, networkFields);
  return {
    perNode: expectCount("network.perNode", record["perNode"]),
    nodeGBps: expectNumber("network.nodeGBps", record["nodeGBps"], "GB/s above 0"),
    betweenGBps: expectNumber("network.betweenGBps", record["betweenGBps"], "GB/s above 0"),
    latencyUs: expectNumber("network.latencyUs", record["latencyUs"], "microseconds above 0"),
  };
}

function expectKernels(value: unknown): Readonly<Record<string, KernelSpeed>> {
  const kernels = Object.entries(expectObject("kernels", value));
  return Object.fromEntries(kernels.map(([kernel, speed]) => [kernel, expectSpeed(`kernels.${kernel}`, speed)]));
}

function expectSpeed(field: string, value: unknown): KernelSpeed {
  const record = expectFields(field, value, speedFields);
  const rate = (name: string, unit: string) =>
    record[name] === undefined ? {} : { [name]: expectNumber(`${field}.${name}`, record[name], `${unit} above 0`) };
  return {
    launchUs: expectAmount(`${field}.launchUs`, record["launchUs"], "microseconds"),
    ...rate("memoryGBps", "GB/s"),
    ...rate("beyondCacheGBps", "GB/s"),
    ...rate("tflops", "TFLOP/s"),
    error: expectAmount(`${field}.error`, record["error"], "a share"),
    calls: expectAmount(`${field}.calls`, record["calls"], "a number of calls"),
  };
}

function expectCalibration(value: unknown): DeviceCalibration {
  const record = expectFields("calibration", value, calibrationFields);
  const text = (name: string) => expectText(`calibration.${name}`, record[name]);
  const { notes } = record;
  if (!Array.isArray(notes) || notes.some((note) => typeof note !== "string"))
    fail("calibration.notes", `found ${quote(notes)}, expected a list of texts`);
  return {
    backend: text("backend"),
    backendVersion: text("backendVersion"),
    machine: text("machine"),
    at: text("at"),
    cacheBytes: expectWhole("calibration.cacheBytes", record["cacheBytes"]),
    dispatchUs: expectAmount("calibration.dispatchUs", record["dispatchUs"], "microseconds"),
    ...(record["freeGBps"] !== undefined && {
      freeGBps: expectNumber("calibration.freeGBps", record["freeGBps"], "GB/s above 0"),
    }),
    ...(record["launchFactors"] !== undefined && { launchFactors: expectFactors(record["launchFactors"]) }),
    error: expectAmount("calibration.error", record["error"], "a share"),
    drift: expectNumber("calibration.drift", record["drift"], "a ratio above 0"),
    notes: notes as string[],
  };
}

function expectFactors(value: unknown): NonNullable<DeviceCalibration["launchFactors"]> {
  const record = expectFields("calibration.launchFactors", value, phaseNames);
  for (const [phase, factor] of Object.entries(record))
    expectNumber(`calibration.launchFactors.${phase}`, factor, "a factor above 0");
  return record as Readonly<Partial<Record<PhaseName, number>>>;
}

function expectFields(field: string, value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  const record = expectObject(field, value);
  for (const name of Object.keys(record))
    if (!known.includes(name)) fail(`${field}.${name}`, `expected one of the fields ${known.join(", ")}`);
  return record;
}

function expectText(field: string, value: unknown): string {
  if (typeof value !== "string" || value === "") fail(field, `found ${quote(value)}, expected text`);
  return value as string;
}

function expectFlag(field: string, value: unknown): boolean {
  if (typeof value !== "boolean") fail(field, `found ${quote(value)}, expected true or false`);
  return value as boolean;
}

function expectNumber(field: string, value: unknown, expected: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0)
    fail(field, `found ${quote(value)}, expected ${expected}`);
  return value as number;
}

function expectAmount(field: string, value: unknown, expected: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
    fail(field, `found ${quote(value)}, expected ${expected} from 0 up`);
  return value as number;
}

function expectCount(field: string, value: unknown): number {
  if (!Number.isSafeInteger(expectNumber(field, value, "a whole number of devices above 0")))
    fail(field, `found ${quote(value)}, expected a whole number of devices above 0`);
  return value as number;
}

function expectWhole(field: string, value: unknown): number {
  if (!Number.isSafeInteger(expectNumber(field, value, "a whole number of bytes above 0")))
    fail(field, `found ${quote(value)}, expected a whole number of bytes above 0`);
  return value as number;
}

function quote(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? typeof value);
  return `'${text.length > 40 ? `${text.slice(0, 40)}…` : text}'`;
}

function fail(field: string, detail: string): never {
  throw new RematError("DEVICE_SPEC", `device spec: field '${field}': ${detail}`);
}
