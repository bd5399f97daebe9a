import { callIndex, type IndexColumn, newIndexColumn, type OpIndex, type TensorIndex } from "./index-types.js";
import { row, type Trace } from "./trace.js";
import { TraceBuilder } from "./trace-builder.js";

/** What a copied op has otherwise than its source. */
export interface CopiedOp {
  readonly inputs: readonly TensorIndex[];
  readonly outputs: readonly TensorIndex[];
  /** Left out: as in the source. */
  readonly phase?: number;
  /** Left out: as in the source. */
  readonly stack?: number;
  /** Whether its tensors take other bytes than in the source, so that what it moves is not known. */
  readonly isResized?: boolean;
  /** Left out: none, as they tell of sizes and count the tensors of the source. */
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/**
 * A trace that is written as another is read, for what a run would have been under other circumstances: the same modules, calls, stacks and scopes by the same numbers;
 * storages, tensors and ops by new ones.
 */
export class TraceCopy {
  readonly source: Trace;
  readonly builder: TraceBuilder;
  /** By op of the source: the latest that stands for it. */
  private readonly opFor: IndexColumn<OpIndex>;

  /** @param notes what a reader should see of the copy, after the notes of the source */
  constructor(source: Trace, notes: readonly string[]) {
    this.source = source;
    this.builder = new TraceBuilder({ ...source.header, notes: [...(source.header.notes ?? []), ...notes] });
    this.opFor = newIndexColumn(source.ops.count, -1);
    for (const module of source.modules) this.builder.module(module);
    const { module, parent, tensorInput } = source.calls;
    for (let call = callIndex(0); call < source.calls.count; call++)
      this.builder.call(module[call], parent[call], tensorInput[call] === 1);
    for (let stack = 1; stack < source.stacks.start.length - 1; stack++) this.builder.stack(row(source.stacks, stack));
    for (const scope of source.scopes) this.builder.scope(scope.name, scope.parent);
  }

  /** Writes what stands for `op` of the source. */
  op(op: OpIndex, { inputs, outputs, phase, stack, isResized = false, attributes }: CopiedOp): OpIndex {
    const { source } = this;
    const { ops } = source;
    const copy = this.builder.op({
      name: source.opName(op),
      phase: phase ?? ops.phase[op],
      flags: ops.flags[op],
      stack: stack ?? ops.stack[op],
      scope: ops.scope[op],
      forwardOp: this.latestOf(ops.forwardOp[op]),
      forwardScope: ops.forwardScope[op],
      inputs,
      outputs,
      writes: this.written(op, inputs, outputs),
      attributes,
      line: source.opLine(op),
      runtimeMs: ops.runtimeMs[op],
      runtimeSource: ops.runtimeSource[op],
      flops: ops.flops[op],
      bytesRead: isResized ? Number.NaN : ops.bytesRead[op],
      bytesWritten: isResized ? Number.NaN : ops.bytesWritten[op],
    });
    this.opFor[op] = copy;
    return copy;
  }

  /** What stands for the tensors that `op` of the source writes into: those in the same places. Undefined if the places are others. */
  private written(
    op: OpIndex,
    inputs: readonly TensorIndex[],
    outputs: readonly TensorIndex[],
  ): readonly TensorIndex[] | undefined {
    const { source } = this;
    const [before, after] = [source.opInputs(op), source.opOutputs(op)];
    if (before.length !== inputs.length || after.length !== outputs.length) return undefined;
    return Array.from(row(source.ops.writes, op), (tensor) => {
      const place = after.indexOf(tensor);
      return place < 0 ? inputs[before.indexOf(tensor)] : outputs[place];
    });
  }

  /** The latest op that stands for `op` of the source; -1 for none. */
  latestOf(op: OpIndex): OpIndex {
    return op < 0 ? op : this.opFor[op];
  }
}
