import { roundUpBytes } from "@remat/memory";
import { EventKind, OpFlag, type Plan, row, type Trace } from "@remat/trace";

/**
 * Follows a plan over the storages of its trace as an executor would, knowing nothing of how it was made: storages appear when ops run or
 * JavaScript makes them, go when the plan frees them or the trace frees the caller's, and reading one that is not there, or whose
 * contents are not those that the trace read, is an error. Returns the most bytes held on the trace's device.
 */
export function followPlan(trace: Trace, plan: Plan): number {
  const { allocationUnitBytes: unit, device } = trace.header;
  // Only what lies on the trace's device is planned.
  const bytesOf = (storage: number) =>
    trace.strings[trace.storages.device[storage]] === device ? roundUpBytes(trace.storages.bytes[storage], unit) : 0;
  const opCount = trace.ops.count;
  const appearBefore: number[][] = Array.from({ length: opCount + 1 }, () => []);
  const insideOf: number[][] = Array.from({ length: opCount + 1 }, () => []);
  const freedAfter: number[][] = Array.from({ length: opCount + 1 }, () => []);
  const isFreed = new Set<number>();
  let pending: number[] = [];
  let op = 0;
  for (let e = 0; e < trace.events.count; e++) {
    const subject = trace.events.subject[e];
    if (trace.events.kind[e] === EventKind.allocate) pending.push(subject);
    else if (trace.events.kind[e] === EventKind.free) {
      isFreed.add(subject);
      freedAfter[op].push(subject);
    } else if (trace.events.kind[e] === EventKind.op) {
      const made = new Set([...trace.opOutputs(subject)].map((t) => trace.tensors.storage[t]));
      const read = new Set([...trace.opInputs(subject)].map((t) => trace.tensors.storage[t]));
      for (const s of pending)
        if (!made.has(s) || read.has(s)) (isFreed.has(s) ? insideOf : appearBefore)[subject].push(s);
      pending = [];
      op = subject + 1;
    }
  }
  appearBefore[opCount].push(...pending);

  /** Content of each storage: how often it has been written into, according to the trace. */
  const contents = new Map<number, number>();
  const readBy = Array.from({ length: opCount }, () => new Map<number, number>());
  const writes = new Map<number, number>();
  for (let i = 0; i < opCount; i++) {
    for (const t of trace.opInputs(i))
      readBy[i].set(trace.tensors.storage[t], writes.get(trace.tensors.storage[t]) ?? 0);
    if (trace.ops.flags[i] & OpFlag.inPlace)
      for (const t of trace.opOutputs(i))
        writes.set(trace.tensors.storage[t], (writes.get(trace.tensors.storage[t]) ?? 0) + 1);
  }

  const sources = plan.sources.map(({ before, ordinal, bytes }) => {
    const storage = appearBefore[before][ordinal];
    if (bytesOf(storage) !== bytes) throw new Error(`source before op ${before} has other bytes`);
    return storage;
  });
  let held = 0;
  let peak = 0;
  const appear = (storage: number) => {
    if (contents.has(storage)) throw new Error(`storage ${storage} is made while it is there`);
    contents.set(storage, 0);
    held += bytesOf(storage);
    peak = Math.max(peak, held);
  };
  const go = (storage: number) => {
    if (!contents.delete(storage)) throw new Error(`storage ${storage} goes while it is not there`);
    held -= bytesOf(storage);
  };
  const callers = new Set(appearBefore[0]);
  for (const { op, isRecomputed, free } of plan.steps) {
    if (!isRecomputed) for (const storage of appearBefore[op]) appear(storage);
    for (const t of trace.opInputs(op)) {
      const storage = trace.tensors.storage[t];
      if (contents.get(storage) !== readBy[op].get(storage))
        throw new Error(
          `op ${op} reads version ${contents.get(storage)} of storage ${storage}, not ${readBy[op].get(storage)}`,
        );
    }
    const isInPlace = (trace.ops.flags[op] & OpFlag.inPlace) !== 0;
    const reads = new Set([...trace.opInputs(op)].map((t) => trace.tensors.storage[t]));
    for (const storage of new Set([...trace.opOutputs(op)].map((t) => trace.tensors.storage[t])))
      if (!reads.has(storage)) appear(storage);
      else if (isInPlace) contents.set(storage, contents.get(storage)! + 1);
    const inside = insideOf[op].reduce((sum, storage) => sum + bytesOf(storage), 0);
    peak = Math.max(peak, held + inside);
    for (const value of free)
      go(
        "source" in value
          ? sources[value.source]
          : trace.tensors.storage[row(trace.ops.outputs, value.op)[value.output]],
      );
    if (!isRecomputed) for (const storage of freedAfter[op + 1]) if (callers.has(storage)) go(storage);
  }
  for (let storage = 0; storage < trace.storages.count; storage++)
    if (contents.has(storage) && isFreed.has(storage)) throw new Error(`storage ${storage} is never freed`);
    else if (!contents.has(storage) && !isFreed.has(storage)) throw new Error(`result ${storage} is gone`);
  return peak;
}
