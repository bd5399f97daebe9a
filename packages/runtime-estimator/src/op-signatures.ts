import { OpFlag, type OpIndex, row, type TensorIndex, type Trace } from "@remat/trace";
import type { OpCall, TensorType } from "./op-call.js";
import { RowInterner } from "./row-interner.js";

/** The distinct calls of a trace. Ops with the same name, attributes and tensor types have the same cost. */
export interface OpSignatures {
  /** Index of the signature of each op. */
  readonly ofOp: Int32Array;
  /** The first op of each signature. */
  readonly firstOp: readonly number[];
}

/**
 * Groups the ops of `trace` by name, attributes, tensor types and whether they move data. It makes one pass over
 * tensors and one over ops.
 */
export function groupOps(trace: Trace): OpSignatures {
  const typeOf = internTensorTypes(trace);
  const { ops } = trace;
  const interner = new RowInterner();
  const ofOp = new Int32Array(ops.count);
  const firstOp: number[] = [];
  let scratch = new Int32Array(64);
  for (let op = 0; op < ops.count; op++) {
    const inputs = ops.inputs.start;
    const outputs = ops.outputs.start;
    const count = 4 + inputs[op + 1] - inputs[op] + outputs[op + 1] - outputs[op];
    if (count > scratch.length) scratch = new Int32Array(count * 2);
    let n = 0;
    scratch[n++] = ops.name[op];
    scratch[n++] = ops.attributes[op];
    scratch[n++] = movesNothing(trace, op) ? 1 : 0;
    scratch[n++] = inputs[op + 1] - inputs[op];
    for (let i = inputs[op]; i < inputs[op + 1]; i++) scratch[n++] = typeOf[ops.inputs.values[i]];
    for (let i = outputs[op]; i < outputs[op + 1]; i++) scratch[n++] = typeOf[ops.outputs.values[i]];
    const signature = interner.intern(scratch, n);
    if (signature === firstOp.length) firstOp.push(op);
    ofOp[op] = signature;
  }
  return { ofOp, firstOp };
}

/** Returns op `op` of `trace` in the form of the cost formulas. */
export function opCallOf(trace: Trace, op: OpIndex): OpCall {
  const types = (tensors: Int32Array) => Array.from(tensors, (tensor) => tensorTypeOf(trace, tensor));
  let attributes: Readonly<Record<string, unknown>> | undefined;
  return {
    name: trace.opName(op),
    inputs: types(trace.opInputs(op)),
    outputs: types(trace.opOutputs(op)),
    // Parsed lazily: parsing is costly, and most formulas need no attributes.
    get attributes() {
      attributes ??= trace.opAttributes(op);
      return attributes;
    },
    view: movesNothing(trace, op),
  };
}

function tensorTypeOf(trace: Trace, tensor: TensorIndex): TensorType {
  const strides = row(trace.tensors.strides, tensor);
  return {
    dtype: trace.tensorDtype(tensor),
    shape: trace.tensorShape(tensor),
    strides: strides.length === 0 ? undefined : Array.from(strides),
  };
}

/** True for an op flagged as a view, or one without an in-place flag whose outputs are all on an input's storage. */
function movesNothing(trace: Trace, op: OpIndex): boolean {
  const { ops, tensors } = trace;
  if ((ops.flags[op] & OpFlag.view) !== 0) return true;
  if ((ops.flags[op] & OpFlag.inPlace) !== 0) return false;
  const inputStart = ops.inputs.start[op];
  const inputEnd = ops.inputs.start[op + 1];
  const outputStart = ops.outputs.start[op];
  const outputEnd = ops.outputs.start[op + 1];
  if (outputStart === outputEnd) return false;
  for (let o = outputStart; o < outputEnd; o++) {
    const storage = tensors.storage[ops.outputs.values[o]];
    let shared = false;
    for (let i = inputStart; i < inputEnd && !shared; i++) shared = tensors.storage[ops.inputs.values[i]] === storage;
    if (!shared) return false;
  }
  return true;
}

/**
 * Returns the number of each tensor's type. A type consists of the dtype, the sizes, and the positions of strides that
 * are 0.
 */
function internTensorTypes(trace: Trace): Int32Array {
  const { count, dtype, shape, strides } = trace.tensors;
  const interner = new RowInterner();
  const typeOf = new Int32Array(count);
  let scratch = new Int32Array(64);
  for (let tensor = 0; tensor < count; tensor++) {
    const start = shape.start[tensor];
    const rank = shape.start[tensor + 1] - start;
    const strideStart = strides.start[tensor];
    const strided = strides.start[tensor + 1] > strideStart;
    if (rank * 3 + 1 > scratch.length) scratch = new Int32Array(rank * 6 + 2);
    let n = 0;
    scratch[n++] = dtype[tensor];
    for (let i = 0; i < rank; i++) {
      const size = shape.values[start + i];
      scratch[n++] = size | 0;
      scratch[n++] = size / 0x1_0000_0000;
      scratch[n++] = strided && strides.values[strideStart + i] === 0 ? 1 : 0;
    }
    typeOf[tensor] = interner.intern(scratch, n);
  }
  return typeOf;
}
