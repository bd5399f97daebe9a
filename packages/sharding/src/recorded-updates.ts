import { readMemoryEvents } from "@remat/memory";
import { Category, type OpIndex, Phase, row, type StorageIndex, type Trace } from "@remat/trace";

/** A parameter that an update of a recorded run changes. */
export interface UpdatedParameter {
  readonly tensor: number;
  /** The tensor of its gradient, or -1 if the update reads no other tensor of its shape. */
  readonly gradient: number;
}

/** A sequence of optimizer ops without ops of another phase between them. */
export interface RecordedUpdate {
  readonly firstOp: number;
  readonly parameters: readonly UpdatedParameter[];
}

/** The updates of a run and the storages of its optimizers. */
export interface RecordedUpdates {
  readonly updates: readonly RecordedUpdate[];
  /** For each storage, 1 if it is state of an optimizer or created in an update. */
  readonly isOptimizers: Uint8Array;
  /**
   * True if the optimizer's state exists when the run begins, or if there is no state at all. It usually exists,
   * because runs are recorded after a first step.
   */
  readonly beginsWithState: boolean;
  /** Mean number of tensors of the parameter's shape that the optimizer keeps per parameter after the first update. */
  readonly statesPerParameter: number;
  readonly opNames: ReadonlySet<string>;
}

/** Returns the updates of a run: the parameters they change, and the state they keep. */
export function recordedUpdates(trace: Trace): RecordedUpdates {
  const { isOptimizers, isMadeInUpdate } = optimizersStorages(trace);
  const reader = new UpdateReader(trace, isOptimizers);
  readMemoryEvents(trace, reader);
  reader.endUpdate();
  const { updates, opNames, kept } = reader;
  const shapes = (updates[0]?.parameters ?? []).map(({ tensor }) => trace.tensorShape(tensor).join()).filter(Boolean);
  const known = new Set(shapes);
  const firstTensor = new Int32Array(trace.storages.count).fill(-1);
  for (let t = trace.tensors.count - 1; t >= 0; t--) firstTensor[trace.tensors.storage[t]] = t;
  const states = kept.filter(
    (storage) => firstTensor[storage] >= 0 && known.has(trace.tensorShape(firstTensor[storage]).join()),
  );
  return {
    updates,
    isOptimizers,
    beginsWithState: kept.length === 0 || kept.some((storage) => isMadeInUpdate[storage] === 0),
    statesPerParameter: shapes.length === 0 ? 0 : states.length / shapes.length,
    opNames,
  };
}

/**
 * Returns the storages that belong to an optimizer by category, or that an op of an update creates, except those of the
 * model.
 */
function optimizersStorages(trace: Trace): { readonly isOptimizers: Uint8Array; readonly isMadeInUpdate: Uint8Array } {
  const { ops, storages } = trace;
  const isOptimizers = new Uint8Array(storages.count);
  const isMadeInUpdate = new Uint8Array(storages.count);
  const ofModel = new Set<number>();
  let fresh: number[] = [];
  const categorize = (storage: StorageIndex, category: number): void => {
    if (category === Category.optimizerState) isOptimizers[storage] = 1;
    else if (modelCategories.has(category)) ofModel.add(storage);
  };
  readMemoryEvents(trace, {
    allocate(storage) {
      categorize(storage, storages.category[storage]);
      fresh.push(storage);
    },
    categorize,
    op(op) {
      if (ops.phase[op] === Phase.optimizer)
        for (const storage of fresh) isOptimizers[storage] = isMadeInUpdate[storage] = 1;
      fresh = [];
    },
  });
  for (const storage of ofModel) isOptimizers[storage] = 0;
  return { isOptimizers, isMadeInUpdate };
}

const modelCategories: ReadonlySet<number> = new Set([
  Category.parameter,
  Category.buffer,
  Category.gradient,
  Category.input,
  Category.activation,
]);

class UpdateReader {
  readonly updates: RecordedUpdate[] = [];
  readonly opNames = new Set<string>();
  /** Storages of the optimizers that outlive the first update. */
  kept: readonly number[] = [];
  private readonly trace: Trace;
  private readonly isOptimizers: Uint8Array;
  private readonly isParameter: Uint8Array;
  /** Tensors that modules declare as parameters, and the storages they are on. */
  private readonly declared = new Set<number>();
  private readonly declaredOn = new Set<number>();
  private readonly live = new Set<number>();
  private open: { readonly firstOp: number; readonly reads: Set<number> } | undefined;

  constructor(trace: Trace, isOptimizers: Uint8Array) {
    this.trace = trace;
    this.isOptimizers = isOptimizers;
    this.isParameter = new Uint8Array(trace.storages.count);
    for (let i = 0; i < trace.weights.count; i++)
      for (const tensor of row(trace.weights.parameters, i)) {
        this.declared.add(tensor);
        this.declaredOn.add(trace.tensors.storage[tensor]);
        this.isParameter[trace.tensors.storage[tensor]] = 1;
      }
  }

  allocate(storage: StorageIndex): void {
    this.categorize(storage, this.trace.storages.category[storage]);
    if (this.isOptimizers[storage] === 1) this.live.add(storage);
  }

  categorize(storage: StorageIndex, category: number): void {
    if (category === Category.parameter) this.isParameter[storage] = 1;
  }

  free(storage: StorageIndex): void {
    this.live.delete(storage);
  }

  op(op: OpIndex): void {
    const { trace } = this;
    if (trace.ops.phase[op] !== Phase.optimizer) {
      this.endUpdate();
      return;
    }
    this.opNames.add(trace.opName(op));
    this.open ??= { firstOp: op, reads: new Set() };
    for (const tensor of trace.opInputs(op)) this.open.reads.add(tensor);
  }

  endUpdate(): void {
    if (this.open === undefined) return;
    const { firstOp, reads } = this.open;
    this.open = undefined;
    if (this.updates.length === 0) this.kept = [...this.live];
    this.updates.push({ firstOp, parameters: this.updated(reads) });
  }

  /**
   * Returns the parameters among the inputs of an update. Each is paired with its gradient: the next input of its shape
   * that is neither a parameter nor state of the optimizer.
   */
  private updated(reads: ReadonlySet<number>): readonly UpdatedParameter[] {
    const { trace, declared, declaredOn } = this;
    const { storage } = trace.tensors;
    const parameters: number[] = [];
    const seen = new Set<number>();
    const gradients = new Map<string, number[]>();
    for (const tensor of reads) {
      const on = storage[tensor];
      if (this.isParameter[on] === 1) {
        // Several declared parameters may share a storage. A storage without declared parameters counts as one
        // parameter.
        const isOne = declaredOn.has(on) ? declared.has(tensor) : !seen.has(on);
        if (isOne) parameters.push(tensor);
        seen.add(on);
      } else if (this.isOptimizers[on] === 0 && !seen.has(on)) {
        seen.add(on);
        const shape = trace.tensorShape(tensor).join();
        gradients.set(shape, [...(gradients.get(shape) ?? []), tensor]);
      }
    }
    return parameters.map((tensor) => ({
      tensor,
      gradient: gradients.get(trace.tensorShape(tensor).join())?.shift() ?? -1,
    }));
  }
}
