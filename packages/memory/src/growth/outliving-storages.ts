import {
  Category,
  type CategoryName,
  categoryNames,
  type MemoryFailure,
  type OpIndex,
  Phase,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
} from "@remat/trace";
import { HeldMemory } from "../held/held-memory.js";
import { GrowthAccumulator, type MakerGrowth } from "./growth-accumulator.js";

/**
 * A group of storages that a trace allocates and that are alive at its end, with the same line, op, shape and module.
 */
export interface OutlivingStorages extends MakerGrowth {
  /** The user's source line, as `file:line:column`. Undefined if none was recorded. */
  readonly line: string | undefined;
  /** The kernel. */
  readonly op: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The innermost module that runs the op, or undefined outside of every module. */
  readonly module: string | undefined;
  readonly category: CategoryName;
}

/** Memory that outlives the steps of a trace. */
export interface TraceGrowth {
  /** The number of weight updates. */
  readonly steps: number;
  /** Growing groups first, then sorted by bytes. Storages that replace weights and optimizer state are excluded. */
  readonly makers: readonly OutlivingStorages[];
  /** For a run that ran out of memory, its growth from step to step before this one. */
  readonly before: Pick<MemoryFailure, "bytesPerStep" | "stepsBefore"> | undefined;
}

interface Maker extends Omit<OutlivingStorages, keyof MakerGrowth> {
  readonly index: number;
}

/**
 * Returns the storages allocated by the ops of a trace that outlive its steps, by allocation site. Growth needs five
 * steps in one trace. For fewer steps, it returns the storages that are left.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * outlivingStorages(await readTrace(file)).makers[0]; // { line: "train.js:7:12", op: "Mean", verdict: "too short", count: 1, … }
 */
export function outlivingStorages(trace: Trace): TraceGrowth {
  const growth = new GrowthAccumulator();
  const makers = new Map<string, Maker>();
  const made = new Map<number, Maker>();
  const madeOfSize = new Map<number, number[]>();
  /** Storages that have replaced a weight or other state of the model or the optimizer. */
  const replacements = new Set<number>();
  let steps = 0;
  let isUpdating = false;
  const endStep = (): void => {
    steps++;
    growth.endPeriod("step");
  };
  /**
   * Finds the replacement of a freed storage. Assigning to a variable frees its old storage after the new one exists.
   * The new one is the latest storage of the same size.
   */
  const replace = (storage: StorageIndex): void => {
    const bytes = held.storages.bytes[storage];
    const newest = madeOfSize.get(bytes) ?? [];
    for (let newer = newest.pop(); newer !== undefined; newer = newest.pop()) {
      const maker = made.get(newer);
      if (maker === undefined) continue;
      made.delete(newer);
      replacements.add(newer);
      growth.freed(maker.index, bytes);
      return;
    }
  };
  const held: HeldMemory = new HeldMemory({
    freeing: (storage) => {
      const maker = made.get(storage);
      made.delete(storage);
      if (maker !== undefined) growth.freed(maker.index, held.storages.bytes[storage]);
      else if (replacements.delete(storage) || isModels(held.storages.category[storage])) replace(storage);
    },
    op: (op) => {
      // An update is over when another op runs.
      const isUpdate = trace.ops.phase[op] === Phase.optimizer;
      if (isUpdating && !isUpdate) endStep();
      isUpdating = isUpdate;
      const read = new Set<number>();
      for (const tensor of trace.opInputs(op)) for (const storage of trace.tensorStorages(tensor)) read.add(storage);
      for (const tensor of trace.opOutputs(op))
        for (const storage of trace.tensorStorages(tensor)) {
          const { storages } = held;
          if (made.has(storage) || read.has(storage) || !storages.isAlive(storage) || storages.op[storage] !== op)
            continue;
          if (storages.bytes[storage] === 0) continue;
          const maker = makerFor(trace, op, tensor, storages.category[storage], makers);
          made.set(storage, maker);
          const bytes = storages.bytes[storage];
          const sameSize = madeOfSize.get(bytes);
          if (sameSize === undefined) madeOfSize.set(bytes, [storage]);
          else sameSize.push(storage);
          growth.allocated(maker.index, bytes);
        }
    },
  });
  held.take(trace);
  if (isUpdating) endStep();
  const { failure } = trace.header;
  return {
    steps,
    makers: [...makers.values()]
      .map(({ index, ...maker }) => ({ ...maker, ...growth.growthOf(index) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => rank(a) - rank(b) || b.bytesPerPeriod - a.bytesPerPeriod || b.bytes - a.bytes),
    before: failure?.bytesPerStep === undefined ? undefined : failure,
  };
}

const ofModels: ReadonlySet<number> = new Set([Category.parameter, Category.buffer, Category.optimizerState]);
const isModels = (category: number): boolean => ofModels.has(category);

const rank = ({ verdict }: MakerGrowth): number => (verdict === "growing" ? 0 : 1);

function makerFor(trace: Trace, op: OpIndex, tensor: TensorIndex, category: number, makers: Map<string, Maker>): Maker {
  const calls = row(trace.stacks, trace.ops.stack[op]);
  const call = calls.at(-1);
  const maker = {
    line: trace.opLine(op),
    op: trace.opName(op),
    dtype: trace.tensorDtype(tensor),
    shape: trace.tensorShape(tensor),
    module: call === undefined ? undefined : trace.modules[trace.calls.module[call]].fqn,
    category: categoryNames[category],
  };
  const key = JSON.stringify(maker);
  let known = makers.get(key);
  if (known === undefined) makers.set(key, (known = { ...maker, index: makers.size }));
  return known;
}
