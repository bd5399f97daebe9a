import { type OpIndex, row, type StorageIndex, type Trace } from "@remat/trace";
import { roundUpBytes, unitBytesOn } from "../allocators/device-units.js";
import { readMemoryEvents } from "./memory-events.js";

/** For each part of a module, its live bytes after each op. */
export interface ModuleBytes {
  readonly within: string;
  readonly parts: readonly { readonly fqn: string; readonly bytes: Float64Array }[];
  /** Bytes of everything else. */
  readonly rest: Float64Array;
}

/**
 * Returns the live bytes of each part of a module after each op. Only the `limit` parts with the highest values are
 * listed separately.
 */
export function moduleBytes(
  trace: Trace,
  options: { readonly device: string; readonly limit: number; readonly within?: string },
): ModuleBytes {
  const owner = storageModules(trace);
  const within = options.within ?? splittingModule(trace);
  const partOf = partsWithin(trace, within);
  const sizes = new StorageSizes(trace, options.device);
  const names = [...new Set(partOf.values())];
  const index = new Map(names.map((name, i) => [name, i]));
  const partOfModule = Int32Array.from(trace.modules, (_, module) => index.get(partOf.get(module) ?? "") ?? -1);
  const partOfStorage = owner.map((module) => (module < 0 ? -1 : partOfModule[module]));

  const highest = new Float64Array(names.length);
  const held = new Float64Array(names.length);
  sizes.replay((storage, change) => {
    const part = partOfStorage[storage];
    if (part < 0) return;
    held[part] += change;
    if (held[part] > highest[part]) highest[part] = held[part];
  });
  const largest = names.map((_, i) => i).sort((a, b) => highest[b] - highest[a] || a - b);
  const shown = largest.slice(0, options.limit).filter((part) => highest[part] > 0);
  // The order of the modules is the order in which the model runs.
  shown.sort((a, b) => a - b);
  const columns = shown.map(() => new Float64Array(trace.ops.count));
  const rest = new Float64Array(trace.ops.count);
  const columnOfPart = new Int32Array(names.length).fill(-1);
  for (const [column, part] of shown.entries()) columnOfPart[part] = column;
  const now = new Float64Array(shown.length + 1);
  sizes.replay(
    (storage, change) => {
      const part = partOfStorage[storage];
      const column = part < 0 ? -1 : columnOfPart[part];
      now[column < 0 ? shown.length : column] += change;
    },
    (op) => {
      for (let c = 0; c < columns.length; c++) columns[c][op] = now[c];
      rest[op] = now[shown.length];
    },
  );
  return { within, parts: shown.map((part, c) => ({ fqn: names[part], bytes: columns[c] })), rest };
}

/**
 * Returns for each storage the module that it belongs to, or -1. The result of an op belongs to the op's module, and a
 * weight to the innermost module that owns it.
 */
export function storageModules(trace: Trace): Int32Array {
  const owner = new Int32Array(trace.storages.count).fill(-1);
  for (let op = 0; op < trace.ops.count; op++) {
    const calls = trace.opCalls(op);
    if (calls.length === 0) continue;
    const module = trace.calls.module[calls[calls.length - 1]];
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) if (owner[storage] < 0) owner[storage] = module;
  }
  const { weights, modules } = trace;
  const depth = new Int32Array(trace.storages.count);
  for (let i = 0; i < weights.count; i++) {
    const module = weights.module[i];
    const { length } = modules[module].fqn;
    for (const rows of [weights.parameters, weights.buffers])
      for (const tensor of row(rows, i))
        for (const storage of trace.tensorStorages(tensor))
          if (length > depth[storage]) {
            depth[storage] = length;
            owner[storage] = module;
          }
  }
  return owner;
}

/** Returns the outermost module with several parts, or an empty name if the modules have no common root. */
function splittingModule({ modules }: Trace): string {
  const known = new Set(modules.map(({ fqn }) => fqn));
  let within = "";
  for (;;) {
    const parts = new Set<string>();
    for (const { fqn } of modules) {
      const part = partOfName(fqn, within, known);
      if (part !== undefined && part !== within) parts.add(part);
    }
    if (parts.size !== 1) return parts.size === 0 ? parentOf(within) : within;
    [within] = parts;
  }
}

const parentOf = (fqn: string): string => fqn.slice(0, Math.max(0, fqn.lastIndexOf(".")));

/** Returns the part for each module inside `within`. */
function partsWithin({ modules }: Trace, within: string): Map<number, string> {
  const parts = new Map<number, string>();
  const known = new Set(modules.map(({ fqn }) => fqn));
  for (const [module, { fqn }] of modules.entries()) {
    const part = partOfName(fqn, within, known);
    if (part !== undefined) parts.set(module, part);
  }
  return parts;
}

/**
 * Returns the shortest prefix of `fqn` that names a module inside `within`. A list of modules such as `layers` is not a
 * module itself.
 */
function partOfName(fqn: string, within: string, known: ReadonlySet<string>): string | undefined {
  if (fqn === within) return within;
  if (within !== "" && !fqn.startsWith(`${within}.`)) return undefined;
  for (let end = within === "" ? 0 : within.length; end < fqn.length; ) {
    const next = fqn.indexOf(".", end + 1);
    end = next < 0 ? fqn.length : next;
    if (known.has(fqn.slice(0, end))) return fqn.slice(0, end);
  }
  return fqn;
}

/** Replays the sizes of the storages of one device over a trace's events, rounded up to the allocation unit. */
class StorageSizes {
  private readonly trace: Trace;
  private readonly unitBytes: number;
  private readonly device: number;

  constructor(trace: Trace, device: string) {
    this.trace = trace;
    this.device = trace.strings.indexOf(device);
    this.unitBytes = unitBytesOn(device, trace.header);
  }

  replay(onChange: (storage: StorageIndex, change: number) => void, onOp?: (op: OpIndex) => void): void {
    const { storages } = this.trace;
    const bytes = new Float64Array(storages.count);
    const become = (storage: StorageIndex, requestedBytes: number): void => {
      if (storages.device[storage] !== this.device) return;
      const size = roundUpBytes(requestedBytes, this.unitBytes);
      onChange(storage, size - bytes[storage]);
      bytes[storage] = size;
    };
    readMemoryEvents(this.trace, {
      allocate: (storage) => become(storage, storages.bytes[storage]),
      free: (storage) => become(storage, 0),
      resize: become,
      ...(onOp !== undefined && { op: onOp }),
    });
  }
}
