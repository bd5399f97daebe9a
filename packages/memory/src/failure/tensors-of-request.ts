import type { Trace } from "@remat/trace";
import type { AllocatorLog } from "./allocator-log.js";
import { roundingOf } from "./size-in-text.js";

/** Tensors of a trace that an op of one name allocates at one line, with the size of a failed request. */
export interface TensorsOfRequest {
  readonly op: string;
  /** The line, as `file:line:column`, if the trace contains it. */
  readonly line: string | undefined;
  readonly shape: readonly number[];
  readonly dtype: string;
  /** The size of each tensor. */
  readonly bytes: number;
  /** The number of such tensors in the trace. */
  readonly count: number;
}

/** Allocators that print exact sizes round requests up to this unit. */
const unitBytes = 512;

/**
 * Returns the tensors of a step that have the size of a failed request, as far as the printed digits tell: those with
 * the nearest size first, then the most frequent ones. The failed request is one of them if the step of the trace is the
 * one that failed.
 *
 * @example
 * tensorsOfRequest(log, trace)[0]; // { op: "aten._to_copy", line: "train.py:88:1", shape: [64, 512, 1024], … }
 */
export function tensorsOfRequest({ askedBytes }: AllocatorLog, trace: Trace): readonly TensorsOfRequest[] {
  if (askedBytes === undefined) return [];
  const error = Math.max(unitBytes, roundingOf(askedBytes));
  const known = new Uint8Array(trace.storages.count);
  const groups = new Map<string, { -readonly [Field in keyof TensorsOfRequest]: TensorsOfRequest[Field] }>();
  for (let op = 0; op < trace.ops.count; op++) {
    for (const tensor of trace.opInputs(op)) for (const storage of trace.tensorStorages(tensor)) known[storage] = 1;
    for (const tensor of trace.opOutputs(op)) {
      const [storage, ...others] = trace.tensorStorages(tensor);
      // An op may return a view of its input.
      if (storage === undefined || others.length > 0 || known[storage] === 1) continue;
      known[storage] = 1;
      const bytes = trace.storages.bytes[storage];
      if (Math.abs(bytes - askedBytes) > error) continue;
      const [name, line] = [trace.opName(op), trace.opLine(op)];
      const [shape, dtype] = [trace.tensorShape(tensor), trace.tensorDtype(tensor)];
      const key = `${name} ${line} ${dtype} ${shape.join()}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { op: name, line, shape, dtype, bytes, count: 1 });
      else group.count++;
    }
  }
  const distance = ({ bytes }: TensorsOfRequest): number => Math.abs(bytes - askedBytes);
  return [...groups.values()].sort((a, b) => distance(a) - distance(b) || b.count - a.count);
}
