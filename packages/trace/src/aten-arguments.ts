import type { OpIndex } from "./index-types.js";
import type { Trace } from "./trace.js";

/** A tensor among an ATen op's arguments or results: its index in `trace.tensors`. */
export interface AtenTensor {
  readonly tensor: number;
}

/**
 * An argument as the op's schema defines it. Dtypes, devices and layouts are strings without a prefix (`float32`,
 * `cuda:0`).
 */
export type AtenValue =
  | null
  | boolean
  | number
  | string
  | AtenTensor
  | readonly AtenValue[]
  | { readonly [name: string]: AtenValue };

/** The arguments and the result of one call of an ATen op. */
export interface AtenArguments {
  /** Positional arguments as passed. Trailing arguments left at their defaults are missing. */
  readonly args: readonly AtenValue[];
  /** Keyword arguments, as passed. */
  readonly kwargs: Readonly<Record<string, AtenValue>>;
  /** The result: a tensor, a list that may contain tensors and nulls, or null. */
  readonly out: AtenValue;
}

/**
 * Returns the arguments and the result of an op of a PyTorch trace, in the structure of its ATen schema.
 *
 * The trace stores them as the op's attributes `{args, kwargs?, out?}`. `"%3"` stands for a tensor: input 3 of the op
 * in `args` and `kwargs`, output 3 in `out`. Inputs are numbered in the order of the arguments: positional before
 * keyword arguments, and nested lists in place. A tensor passed twice has two numbers. Outputs are numbered in the same
 * way. A string that begins with `%` or `\\` has another `\\` in front. Non-finite numbers are `"\\inf"`, `"\\-inf"`
 * and `"\\nan"`. `out` is left out if it is a single tensor.
 *
 * @example
 * const { args, kwargs } = atenArguments(trace, op); // aten.addmm.default
 * const shape = trace.tensorShape((args[1] as AtenTensor).tensor);
 */
export function atenArguments(trace: Trace, op: OpIndex): AtenArguments {
  const attributes = trace.opAttributes(op) as { args?: readonly unknown[]; kwargs?: object; out?: unknown };
  const inputs = tensorReader(trace.opInputs(op));
  const args = (attributes.args ?? []).map(inputs);
  const kwargs = Object.fromEntries(
    Object.entries(attributes.kwargs ?? {}).map(([name, value]) => [name, inputs(value)]),
  );
  return { args, kwargs, out: tensorReader(trace.opOutputs(op))(attributes.out === undefined ? "%0" : attributes.out) };
}

/**
 * Encodes the call of an ATen op. Returns the attributes, inputs and outputs for `TraceBuilder.op`. This is the inverse
 * of {@link atenArguments}.
 */
export function encodeAtenArguments(call: AtenArguments): {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
} {
  const inputs: number[] = [];
  const outputs: number[] = [];
  const attributes: Record<string, unknown> = { args: call.args.map((value) => encode(value, inputs)) };
  if (Object.keys(call.kwargs).length > 0) attributes["kwargs"] = encode(call.kwargs, inputs);
  const out = encode(call.out, outputs);
  if (out !== "%0") attributes["out"] = out;
  return { attributes, inputs, outputs };
}

const nonFinite: Readonly<Record<string, number>> = { inf: Infinity, "-inf": -Infinity, nan: Number.NaN };

function tensorReader(tensors: Int32Array): (value: unknown) => AtenValue {
  const decode = (value: unknown): AtenValue => {
    if (typeof value === "string") {
      if (value.startsWith("%")) return { tensor: tensors[Number(value.slice(1))] ?? -1 };
      if (!value.startsWith("\\")) return value;
      const rest = value.slice(1);
      return Object.hasOwn(nonFinite, rest) ? nonFinite[rest] : rest;
    }
    if (Array.isArray(value)) return value.map(decode);
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, decode(item)]));
    return value as null | boolean | number;
  };
  return decode;
}

function encode(value: AtenValue, tensors: number[]): unknown {
  if (typeof value === "string") return /^[%\\]/.test(value) ? `\\${value}` : value;
  if (typeof value === "number" && !Number.isFinite(value))
    return Number.isNaN(value) ? "\\nan" : value > 0 ? "\\inf" : "\\-inf";
  if (Array.isArray(value)) return value.map((item) => encode(item as AtenValue, tensors));
  if (typeof value !== "object" || value === null) return value;
  if (isTensor(value)) {
    return `%${tensors.push(value.tensor) - 1}`;
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, encode(item as AtenValue, tensors)]));
}

function isTensor(value: AtenValue): value is AtenTensor {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    typeof (value as AtenTensor).tensor === "number"
  );
}
