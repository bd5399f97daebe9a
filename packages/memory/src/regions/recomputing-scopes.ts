import { bytesPerElement, EventKind, OpFlag, type OpIndex, Phase, type StorageIndex, type Trace } from "@remat/trace";

/** The part of a scope that its gradient function computes again. */
export interface RecomputingScope {
  /** How many times the gradient function has recomputed it. */
  readonly times: number;
  /** Storages of the forward pass whose contents the gradient function has recomputed. */
  readonly again: ReadonlySet<number>;
}

/**
 * Finds manual activation checkpointing: scopes with their own gradient (`customGrad` in TensorFlow.js) whose gradient
 * function runs some of their kernels again on the same values. The result is keyed by index into `trace.scopes`. It
 * also includes scopes that were not differentiated, if they run the same kernels as one of these scopes.
 */
export function recomputingScopes(trace: Trace): ReadonlyMap<number, RecomputingScope> {
  const scopes = new Map<number, RecomputingScope>();
  if (!trace.scopes.some(({ checkpoint }) => checkpoint === undefined)) return scopes;
  const search = new Search(trace);
  for (const [scope, made] of search.madeIn)
    if (made.again.size > 0) scopes.set(scope, { times: Math.max(...made.times.values()), again: made.again });
  const known = new Set([...scopes.keys()].map((scope) => search.kernelsOf(scope)));
  for (const scope of search.madeIn.keys())
    if (!scopes.has(scope) && !search.isDifferentiated(scope) && known.has(search.kernelsOf(scope)))
      scopes.set(scope, { times: 0, again: new Set() });
  return scopes;
}

/** The observations of a scope. */
interface Made {
  /** The values that each op created, in order. The key is the op with its inputs. */
  readonly values: Map<string, readonly number[]>;
  readonly ops: number[];
  /** For each such op, how many times it ran again. */
  readonly times: Map<string, number>;
  readonly again: Set<number>;
}

class Search {
  /** For each scope, what ran in it in the forward pass. */
  readonly madeIn = new Map<number, Made>();
  private readonly trace: Trace;
  private readonly differentiated = new Set<number>();
  /** For each storage with a saved or recomputed copy of values, the storage that had these values first. */
  private readonly firstWith = new Map<number, number>();
  /** Storages that ops have made. */
  private readonly isMade = new Set<number>();

  constructor(trace: Trace) {
    this.trace = trace;
    const { kind, subject, count } = trace.events;
    const { saves } = trace;
    for (let event = 0; event < count; event++)
      if (kind[event] === EventKind.op) this.op(subject[event]);
      else if (kind[event] === EventKind.save && saves.tensor[subject[event]] >= 0) {
        const [storage] = trace.tensorStorages(saves.tensor[subject[event]]);
        if (storage !== saves.storage[subject[event]])
          this.firstWith.set(saves.storage[subject[event]], this.valueOf(storage));
      }
  }

  /** Returns whether ops of its gradient function ran. */
  isDifferentiated(scope: number): boolean {
    return this.differentiated.has(scope);
  }

  /** Returns the kernels that ran in it, in order. */
  kernelsOf(scope: number): string {
    return this.madeIn
      .get(scope)!
      .ops.map((op) => this.trace.opName(op))
      .join();
  }

  private op(op: OpIndex): void {
    const { ops } = this.trace;
    const scope = ops.forwardScope[op];
    if (scope >= 0) {
      this.differentiated.add(scope);
      this.repeat(op, scope);
    } else if (ops.phase[op] === Phase.forward)
      for (let around = ops.scope[op]; around >= 0; around = this.trace.scopes[around].parent) this.make(op, around);
    for (const tensor of this.trace.opOutputs(op))
      for (const storage of this.trace.tensorStorages(tensor)) this.isMade.add(storage);
  }

  private make(op: OpIndex, scope: number): void {
    let made = this.madeIn.get(scope);
    if (made === undefined)
      this.madeIn.set(scope, (made = { values: new Map(), ops: [], times: new Map(), again: new Set() }));
    made.ops.push(op);
    made.values.set(this.keyOf(op), this.outputsOf(op));
  }

  /** Handles an op of the gradient function of `scope`, or of a scope inside `scope`. */
  private repeat(op: OpIndex, scope: number): void {
    const made = this.madeIn.get(scope);
    if (made === undefined) return;
    const key = this.keyOf(op);
    const values = made.values.get(key);
    if (values === undefined) return;
    const outputs = this.outputsOf(op);
    for (const [i, output] of outputs.entries()) this.firstWith.set(output, values[i]);
    // A view does no work, and takes no memory if its storage exists.
    if ((this.trace.ops.flags[op] & (OpFlag.view | OpFlag.random)) !== 0) return;
    made.times.set(key, (made.times.get(key) ?? 0) + 1);
    for (const value of values) made.again.add(value);
  }

  /** Returns a key for an op and its inputs. */
  private keyOf(op: OpIndex): string {
    const { trace } = this;
    const attributes = trace.ops.attributes[op];
    const inputs = Array.from(trace.opInputs(op), (tensor) => {
      const [storage] = trace.tensorStorages(tensor);
      const type = `${trace.tensorDtype(tensor)}[${trace.tensorShape(tensor).join()}]`;
      // JavaScript creates a new tensor each time the program uses a number.
      const isNumber =
        !this.isMade.has(storage) && trace.storages.bytes[storage] <= (bytesPerElement(trace.tensorDtype(tensor)) ?? 0);
      return isNumber ? type : `${this.valueOf(storage)}:${type}`;
    });
    return `${trace.opName(op)} ${attributes} ${inputs.join(" ")}`;
  }

  private outputsOf(op: OpIndex): readonly number[] {
    return [...this.trace.opOutputs(op)].map((tensor) => this.trace.tensorStorages(tensor)[0]);
  }

  private valueOf(storage: StorageIndex): number {
    return this.firstWith.get(storage) ?? storage;
  }
}
