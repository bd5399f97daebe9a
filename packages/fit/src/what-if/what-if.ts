import { deviceSpec } from "@remat/runtime-estimator";
import { type DeviceSpec, RematError } from "@remat/trace";
import { type FitPrecision, fitPrecisions } from "../fit-unit.js";

/** The changes to the current step. Fields that are left out do not change. */
export interface WhatIf {
  readonly batch?: number | "largest";
  readonly optimizer?: string;
  readonly precision?: FitPrecision;
  readonly device?: DeviceSpec;
  /** The sharding plan in the form of `--fsdp`, such as `world=8,wrap='h.*',no-reshard`. */
  readonly sharding?: string;
}

/**
 * Returns a question from text, such as `batch=64, optimizer=adam`, `batch=largest, device=h100` or `precision=bf16`.
 * The rest of the text is a sharding plan in the form of `--fsdp`.
 *
 * @throws RematError `WHAT_IF` for an empty question or a key that is given twice, and `DEVICE_UNKNOWN`
 * @example
 * parseWhatIf("batch=16, world=8, no-reshard"); // { batch: 16, sharding: "world=8,no-reshard" }
 */
export function parseWhatIf(text: string): WhatIf {
  const given = new Map<string, string>();
  const rest = text.replace(
    /(^|,)\s*(batch|optimizer|precision|device)\s*=\s*([^,]*)/g,
    (_all, _comma, key: string, value: string) => {
      if (given.has(key)) throw refusal(`${key}= is given twice in ${JSON.stringify(text)}. Remove one of them.`);
      given.set(key, value.trim());
      return "";
    },
  );
  const sharding = rest.trim().replace(/^,\s*/, "");
  const [batch, optimizer, precision, device] = ["batch", "optimizer", "precision", "device"].map((key) =>
    given.get(key),
  );
  if (given.size === 0 && sharding === "")
    throw refusal(
      "the question is empty. Ask, for example, batch=64, optimizer=adam, device=h100 or world=8,no-reshard.",
    );
  return {
    ...(batch !== undefined && { batch: batch === "largest" ? batch : samplesOf(batch) }),
    ...(optimizer !== undefined && { optimizer }),
    ...(precision !== undefined && { precision: precisionOf(precision) }),
    ...(device !== undefined && { device: deviceSpec(device) }),
    ...(sharding !== "" && { sharding }),
  };
}

/** Returns a question as text for {@link parseWhatIf}. */
export function describeWhatIf({ batch, optimizer, precision, device, sharding }: WhatIf): string {
  return [
    ...(batch === undefined ? [] : [`batch=${batch}`]),
    ...(optimizer === undefined ? [] : [`optimizer=${optimizer}`]),
    ...(precision === undefined ? [] : [`precision=${precision}`]),
    ...(device === undefined ? [] : [`device=${device.name}`]),
    ...(sharding === undefined ? [] : [sharding]),
  ].join(", ");
}

function samplesOf(text: string): number {
  const samples = Number(text);
  if (!/^\d+$/.test(text) || samples < 1 || !Number.isSafeInteger(samples))
    throw refusal(`batch= expects a number of samples, or largest; found ${JSON.stringify(text)}.`);
  return samples;
}

function precisionOf(text: string): FitPrecision {
  const found = fitPrecisions.find((name) => name === text);
  if (found === undefined)
    throw refusal(`precision= expects one of ${fitPrecisions.join(", ")}; found ${JSON.stringify(text)}.`);
  return found;
}

function refusal(detail: string): RematError {
  return new RematError("WHAT_IF", detail);
}
