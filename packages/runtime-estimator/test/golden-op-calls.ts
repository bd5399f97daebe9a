import type { Golden } from "@remat/testkit";
import type { DeviceSpec } from "@remat/trace";
import type { OpCall, TensorType } from "../src/index.js";

/** The figures that upstream was given in place of a real device's. */
export function goldenDevice(golden: Golden): DeviceSpec {
  const { tflops, dram_gbps, min_allocate } = golden["config"];
  return { name: "golden", tflops, memoryGBps: dram_gbps, allocationUnitBytes: min_allocate };
}

/** The inputs of an op event, and none of its answers, as the cost formulas take them. */
// biome-ignore lint/suspicious/noExplicitAny: an event of a golden file
export function goldenOpCall(golden: Golden, event: any): OpCall {
  const inputs: TensorType[] = [];
  const localise = (value: unknown): unknown => {
    if (typeof value === "string" && value.startsWith("%")) return `%${inputs.push(tensorType(golden, value)) - 1}`;
    if (Array.isArray(value)) return value.map(localise);
    if (value !== null && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, localise(item)]));
    return value;
  };
  const attributes = { args: localise(event.a), kwargs: localise(event.k ?? {}) } as Record<string, unknown>;
  const outputs: TensorType[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === "string" && value.startsWith("%")) outputs.push(tensorType(golden, value));
    else if (Array.isArray(value)) value.forEach(collect);
  };
  collect(event.o);
  return { name: golden["funcs"][event.f].name, inputs, outputs, attributes };
}

function tensorType(golden: Golden, reference: string): TensorType {
  const { dt, sh, st } = golden["tensors"][Number(reference.slice(1))];
  return { dtype: dt, shape: sh, strides: st ?? undefined };
}
