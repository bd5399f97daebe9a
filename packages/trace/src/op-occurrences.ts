import { opIndex, type TensorIndex } from "./index-types.js";
import type { Occurrence } from "./occurrence.js";
import type { TensorType } from "./tensor-type.js";
import { row, type Trace } from "./trace.js";
import { phaseNames } from "./vocabulary.js";

/**
 * Returns the occurrence of each op of a trace (rule T9 of `ARCHITECTURE.md`): the innermost module call, the phase,
 * the kernel, the number of earlier ops of that kernel in the call, and the types of the outputs.
 *
 * @example
 * opOccurrences(trace)[7].kernel; // "BatchMatMul"
 */
export function opOccurrences(trace: Trace): Occurrence[] {
  const { ops, calls, modules } = trace;
  const placeOfCall = placesOfCalls(trace);
  const typeOf = tensorTypes(trace);
  const seen = new Map<number, number>();
  return Array.from({ length: ops.count }, (_, index) => {
    const op = opIndex(index);
    const active = trace.opCalls(op);
    const call = active.length === 0 ? -1 : active[active.length - 1];
    const place = call < 0 ? 0 : placeOfCall[call];
    const kind = (place * trace.strings.length + ops.name[op]) * phaseNames.length + ops.phase[op];
    const ordinal = seen.get(kind) ?? 0;
    seen.set(kind, ordinal + 1);
    return {
      module: call < 0 ? undefined : modules[calls.module[call]].fqn,
      call: call < 0 ? 0 : calls.number[call],
      phase: phaseNames[ops.phase[op]],
      kernel: trace.opName(op),
      ordinal,
      outputs: Array.from(trace.opOutputs(op), typeOf),
    };
  });
}

/**
 * Returns a number from 1 on for each call. Calls with the same module name and call number share it. Modules of the
 * same name count as one.
 */
function placesOfCalls({ calls, modules }: Trace): Int32Array {
  const places = new Map<string, number>();
  return Int32Array.from({ length: calls.count }, (_, call) => {
    const key = `${calls.number[call]} ${modules[calls.module[call]].fqn}`;
    const place = places.get(key) ?? places.size + 1;
    places.set(key, place);
    return place;
  });
}

/** Returns a function that returns the type of a tensor. Tensors of the same dtype and shape share one object. */
function tensorTypes(trace: Trace): (tensor: TensorIndex) => TensorType {
  const { tensors } = trace;
  const types = new Map<string, TensorType>();
  return (tensor) => {
    const shape = row(tensors.shape, tensor);
    const key = `${tensors.dtype[tensor]}:${shape.join()}`;
    let type = types.get(key);
    if (type === undefined) {
      type = { dtype: trace.tensorDtype(tensor), shape: Array.from(shape) };
      types.set(key, type);
    }
    return type;
  };
}
