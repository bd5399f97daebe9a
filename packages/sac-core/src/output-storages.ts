import { allocatedSizes } from "@remat/memory";
import { OpFlag, type Trace } from "@remat/trace";

/** The distinct storages with results of each op, and the ops of each storage. */
export interface OutputStorages {
  /** The storages of op i are `storages[opStart[i]] … storages[opStart[i + 1] - 1]`. */
  readonly opStart: Int32Array;
  readonly storages: Int32Array;
  /** The ops with results in storage s, ascending, are `ops[storageStart[s]] … ops[storageStart[s + 1] - 1]`. */
  readonly storageStart: Int32Array;
  readonly ops: Int32Array;
}

export function outputStorages(trace: Trace): OutputStorages {
  const { outputs, count } = trace.ops;
  const { storage, moreStorages } = trace.tensors;
  const opStart = new Int32Array(count + 1);
  let storages = new Int32Array(outputs.values.length);
  let length = 0;
  const storageStart = new Int32Array(trace.storages.count + 1);
  const add = (from: number, id: number): void => {
    for (let i = from; i < length; i++) if (storages[i] === id) return;
    if (length === storages.length) {
      const grown = new Int32Array(2 * length + 16);
      grown.set(storages);
      storages = grown;
    }
    storages[length++] = id;
    storageStart[id + 1]++;
  };
  for (let op = 0; op < count; op++) {
    const from = length;
    for (let i = outputs.start[op]; i < outputs.start[op + 1]; i++) {
      const tensor = outputs.values[i];
      const more = moreStorages.size === 0 ? undefined : moreStorages.get(tensor);
      if (more === undefined) add(from, storage[tensor]);
      else for (const id of more) add(from, id);
    }
    opStart[op + 1] = length;
  }
  for (let s = 0; s < trace.storages.count; s++) storageStart[s + 1] += storageStart[s];
  const next = storageStart.slice();
  const ops = new Int32Array(length);
  for (let op = 0; op < count; op++) for (let i = opStart[op]; i < opStart[op + 1]; i++) ops[next[storages[i]]++] = op;
  return { opStart, storages: storages.subarray(0, length), storageStart, ops };
}

/**
 * Returns the bytes needed to keep each op's results, as the device allocates their storages. 0 for an op whose results
 * are views.
 */
export function keptBytesOfOps(trace: Trace, { opStart, storages }: OutputStorages): Float64Array {
  const allocated = allocatedSizes(trace);
  const ofOp = new Float64Array(trace.ops.count);
  for (let op = 0; op < ofOp.length; op++) {
    if (trace.ops.flags[op] & OpFlag.view) continue;
    let sum = 0;
    for (let i = opStart[op]; i < opStart[op + 1]; i++) sum += allocated[storages[i]];
    ofOp[op] = sum;
  }
  return ofOp;
}
