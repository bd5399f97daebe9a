import { allocatedSizes } from "@remat/memory";
import { OpMark, opStartMs } from "@remat/reporting";
import { OpFlag, type Rows, row, type Trace } from "@remat/trace";
import type { PageOps } from "./answers.js";

const markOfFlag: readonly (readonly [flag: number, mark: number])[] = [
  [OpFlag.view, OpMark.view],
  [OpFlag.random, OpMark.random],
  [OpFlag.inPlace, OpMark.inPlace],
  [OpFlag.sacSkip, OpMark.skipped],
];

/**
 * Returns the columns of `allOpsView` that the page needs. It creates no object or text per op, since a million ops
 * must be shown quickly.
 */
export function pageOps(trace: Trace): PageOps {
  const { ops, storages, saves } = trace;
  const marksOfFlags = new Map<number, number>();
  const marks = Uint8Array.from(ops.flags, (flags) => {
    let found = marksOfFlags.get(flags);
    if (found === undefined) {
      found = markOfFlag.reduce((all, [flag, mark]) => ((flags & flag) !== 0 ? all | mark : all), 0);
      marksOfFlags.set(flags, found);
    }
    return found;
  });
  const bytes = allocatedSizes(trace);
  const memoryBytes = new Float64Array(ops.count);
  const isSaved = new Uint8Array(storages.count);
  for (let i = 0; i < saves.count; i++) isSaved[saves.storage[i]] = 1;
  const isKnown = new Uint8Array(storages.count);
  const { storage, moreStorages } = trace.tensors;
  for (let op = 0; op < ops.count; op++) {
    eachStorage(ops.inputs, op, (at) => {
      isKnown[at] = 1;
    });
    eachStorage(ops.outputs, op, (at) => {
      if (isKnown[at] === 1) return;
      isKnown[at] = 1;
      memoryBytes[op] += bytes[at];
      if (isSaved[at] === 1) marks[op] |= OpMark.savedByAutograd;
    });
  }
  function eachStorage({ start, values }: Rows, op: number, use: (storage: number) => void): void {
    for (let i = start[op]; i < start[op + 1]; i++) {
      const more = moreStorages.size === 0 ? undefined : moreStorages.get(values[i]);
      if (more === undefined) use(storage[values[i]]);
      else more.forEach(use);
    }
  }
  return {
    count: ops.count,
    name: ops.name,
    phase: ops.phase,
    marks,
    module: modulesOfOps(trace),
    runtimeMs: ops.runtimeMs,
    memoryBytes,
    startMs: opStartMs(ops.runtimeMs),
  };
}

/** For each op: its innermost module, or -1. */
function modulesOfOps({ ops, stacks, calls }: Trace): Int32Array {
  const ofStack = Int32Array.from({ length: stacks.start.length - 1 }, (_, stack) => {
    const active = row(stacks, stack);
    return active.length === 0 ? -1 : calls.module[active[active.length - 1]];
  });
  return ops.stack.map((stack) => ofStack[stack]);
}
