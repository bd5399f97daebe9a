import { allocatedSizes, readMemoryEvents, storageModules, storageUses } from "@remat/memory";
import { type CategoryName, categoryNames, type OpIndex, type StorageIndex, type Trace } from "@remat/trace";
import { formatNumber } from "@remat/trace/text";

/** A storage from allocation to free. */
export interface StorageLife {
  /** Index of the storage in the trace. */
  readonly storage: number;
  /** Size in bytes, rounded up to the allocation unit. */
  readonly bytes: number;
  /** Category at the allocation. It may change later. */
  readonly category: CategoryName;
  /** The op that allocates it, or the op after the JavaScript code that allocates it. */
  readonly bornAt: number;
  /** True if that op allocates it. */
  readonly isMade: boolean;
  /** The last op that reads or writes it, or -1. */
  readonly lastOp: number;
  /** The next op after it is freed. It is the number of ops if it is freed at the end of the trace, or never. */
  readonly freedBefore: number;
  /** Fully qualified name of the module that it belongs to, or undefined if none exists. */
  readonly module: string | undefined;
  /** `float32 [8, 10]`, or undefined if no tensor uses it. */
  readonly tensor: string | undefined;
}

/** Options of {@link storageLives}. */
export interface StorageLivesOptions {
  /** First op of the range. Storages that live in a part of the range are included. */
  readonly from: number;
  /** End of the range (exclusive). */
  readonly to: number;
  /** Maximum number of storages. */
  readonly limit: number;
  /** Storages allocated by this op come first. */
  readonly op?: number;
}

/**
 * Returns the largest storages of the trace's device that live within a range of ops, with their lifetimes. Scratch
 * memory inside a single op is left out.
 *
 * @example
 * storageLives(trace, { from: 100, to: 120, limit: 20 }).filter(({ lastOp, freedBefore }) => freedBefore - lastOp > 1000);
 */
export function storageLives(trace: Trace, { from, to, limit, op = -1 }: StorageLivesOptions): readonly StorageLife[] {
  const { storages, ops, header } = trace;
  const bornAt = new Int32Array(storages.count).fill(-1);
  let next = 0;
  readMemoryEvents(trace, {
    op: (item) => void (next = item + 1),
    allocate: (storage) => void (bornAt[storage] = next),
  });
  const { lastOp, freedBefore } = storageUses(trace);
  const sizes = allocatedSizes(trace);
  const found: number[] = [];
  const made = new Set(op < 0 ? [] : freshOutputs(trace, op, bornAt));
  for (let storage = 0; storage < storages.count; storage++) {
    const end = freedBefore[storage] < 0 ? ops.count : freedBefore[storage];
    const isWithin = bornAt[storage] >= 0 && bornAt[storage] < to && end > Math.max(from, bornAt[storage]);
    if (trace.strings[storages.device[storage]] !== header.device || !(storages.bytes[storage] > 0)) continue;
    if (isWithin || made.has(storage)) found.push(storage);
  }
  const first = (storage: StorageIndex): number => (made.has(storage) ? 0 : 1);
  found.sort((a, b) => first(a) - first(b) || sizes[b] - sizes[a] || a - b);
  const chosen = found.slice(0, limit);
  const tensors = tensorsOf(trace, new Set(chosen));
  const modules = storageModules(trace);
  return chosen.map((storage) => ({
    storage,
    bytes: sizes[storage],
    category: categoryNames[storages.category[storage]],
    bornAt: bornAt[storage],
    isMade: freshOutputs(trace, bornAt[storage], bornAt).includes(storage),
    lastOp: lastOp[storage],
    freedBefore: freedBefore[storage] < 0 ? ops.count : freedBefore[storage],
    module: trace.modules[modules[storage]]?.fqn,
    tensor: tensors.get(storage),
  }));
}

/**
 * Describes a lifetime: the op that allocates the storage, the op that uses it last, and for how many ops it stays
 * alive after that.
 */
export function describeStorageLife(
  { bornAt, isMade, lastOp, freedBefore }: StorageLife,
  opName: (op: OpIndex) => string,
): string {
  const made = isMade
    ? `allocated by op ${bornAt} ${opName(bornAt)}`
    : `existed before op ${bornAt}, not allocated by an op`;
  if (lastOp < 0) return `${made}, never used`;
  const idle = freedBefore - 1 - lastOp;
  const used = `${made}, last used by op ${lastOp} ${opName(lastOp)}`;
  return idle <= 0 ? `${used}, then freed` : `${used}, then kept alive for ${formatNumber(idle)} more ops`;
}

function freshOutputs(trace: Trace, op: OpIndex, bornAt: Int32Array): number[] {
  if (op >= trace.ops.count) return [];
  const storages = new Set<number>();
  for (const tensor of trace.opOutputs(op))
    for (const storage of trace.tensorStorages(tensor)) if (bornAt[storage] === op) storages.add(storage);
  return [...storages];
}

function tensorsOf(trace: Trace, wanted: ReadonlySet<number>): ReadonlyMap<number, string> {
  const texts = new Map<number, string>();
  for (let tensor = 0; tensor < trace.tensors.count && texts.size < wanted.size; tensor++)
    for (const storage of trace.tensorStorages(tensor))
      if (wanted.has(storage) && !texts.has(storage))
        texts.set(storage, `${trace.tensorDtype(tensor)} [${trace.tensorShape(tensor).join(", ")}]`);
  return texts;
}
