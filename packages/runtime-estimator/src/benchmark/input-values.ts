import { elementsOf } from "@remat/trace";
import { type OpCall, type TensorType } from "../op-call.js";

export type InputValues = Float32Array | Int32Array | Uint8Array;

/**
 * Returns values with which an input can run: floats between 0.1 and 1, so that logarithms, roots, quotients and
 * inverse functions are defined; small positive integers; alternating booleans; indices, sorted values and segments if
 * the kernel expects them. Returns undefined for a dtype whose values cannot be generated.
 *
 * @internal
 */
export function inputValues(call: OpCall, name: string, type: TensorType): InputValues | undefined {
  const { dtype, shape } = type;
  const count = elementsOf(shape);
  const limits = indexLimits[call.name]?.[name]?.(call);
  if (limits !== undefined) return cast(dtype, fillIndices(count, limits));
  if (name === "sortedSequence" || (call.name.startsWith("SparseSegment") && name === "segmentIds")) {
    const steps = name === "sortedSequence" ? (shape.at(-1) ?? 1) : Math.max(1, call.outputs[0]?.shape[0] ?? 1);
    return cast(dtype, fillSorted(count, name === "sortedSequence" ? steps : count, steps));
  }
  if (dtype === "float32") return fillFloats(count, call.name === "Acosh" ? 1 : 0);
  if (dtype === "int32")
    return repeat(
      Int32Array.from({ length: Math.min(count, 7) }, (_, i) => i + 1),
      count,
    );
  if (dtype === "bool")
    return repeat(
      Uint8Array.from({ length: Math.min(count, 2) }, (_, i) => i),
      count,
    );
  return undefined;
}

/** Exclusive upper limits of inputs that are indices: one for each position in the last dimension, or one for all. */
const indexLimits: Readonly<Record<string, Readonly<Record<string, (call: OpCall) => readonly number[]>>>> = {
  GatherV2: { indices: (call) => [call.inputs[0].shape[axisOf(call)] ?? 1] },
  GatherNd: { indices: (call) => coordinates(call.inputs[0].shape, call.inputs[1].shape) },
  ScatterNd: { indices: (call) => coordinates(numbers(call.attributes?.["shape"]), call.inputs[0].shape) },
  TensorScatterUpdate: { indices: (call) => coordinates(call.inputs[0].shape, call.inputs[1].shape) },
  SparseToDense: {
    sparseIndices: (call) => coordinates(numbers(call.attributes?.["outputShape"]), call.inputs[0].shape),
  },
  UnsortedSegmentSum: { segmentIds: (call) => [Number(call.attributes?.["numSegments"] ?? 1)] },
  SparseSegmentMean: { indices: (call) => [call.inputs[0].shape[0]] },
  SparseSegmentSum: { indices: (call) => [call.inputs[0].shape[0]] },
  Bincount: { x: (call) => [Number(call.attributes?.["size"] ?? 1)] },
  DenseBincount: { x: (call) => [Number(call.attributes?.["size"] ?? 1)] },
  OneHot: { indices: (call) => [Number(call.attributes?.["depth"] ?? 1)] },
  CropAndResize: { boxInd: (call) => [call.inputs[0].shape[0]] },
};

function axisOf(call: OpCall): number {
  const axis = Number(call.attributes?.["axis"] ?? 0);
  return axis < 0 ? axis + call.inputs[0].shape.length : axis;
}

function numbers(value: unknown): readonly number[] {
  return Array.isArray(value) ? (value as number[]) : [];
}

/**
 * Returns limits of the coordinates in the last dimension of a tensor of indices. A list of indices has one coordinate.
 */
function coordinates(indexed: readonly number[], indices: readonly number[]): readonly number[] {
  return indexed.slice(0, indices.length < 2 ? 1 : indices[indices.length - 1]);
}

/** Indices spread over the whole range and out of order, like the rows of an embedding. */
function fillIndices(count: number, limits: readonly number[]): Int32Array {
  const indices = new Int32Array(count);
  for (let i = 0; i < count; i++)
    indices[i] = (Math.imul(i, 0x9e3779b1) >>> 0) % Math.max(1, limits[i % limits.length] ?? 1);
  return indices;
}

/** Rows of `length` entries that rise from 0 to `steps` - 1. */
function fillSorted(count: number, length: number, steps: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => Math.floor(((i % length) * steps) / length));
}

function fillFloats(count: number, offset: number): Float32Array {
  const block = new Float32Array(Math.min(count, 4093));
  let state = 1;
  for (let i = 0; i < block.length; i++) {
    state = Math.imul(state, 1664525) + 1013904223;
    block[i] = offset + 0.1 + 0.9 * ((state >>> 8) / 0x100_0000);
  }
  return repeat(block, count);
}

/** Repeats `block` by doubling, so that filling takes little time. */
function repeat<T extends InputValues>(block: T, count: number): T {
  if (block.length === count) return block;
  const values = new (block.constructor as new (length: number) => T)(count);
  values.set(block);
  for (let done = block.length; done > 0 && done < count; done *= 2)
    values.copyWithin(done, 0, Math.min(done, count - done));
  return values;
}

function cast(dtype: string, values: Int32Array): InputValues | undefined {
  if (dtype === "int32") return values;
  return dtype === "float32" ? Float32Array.from(values) : undefined;
}
