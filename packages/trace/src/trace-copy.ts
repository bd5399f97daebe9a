import { callIndex, type IndexColumn, newIndexColumn, type OpIndex, type TensorIndex } from "./index-types.js";
import { type Rows, row, type Trace } from "./trace.js";
import { TraceBuilder } from "./trace-builder.js";

/** The properties in which a copied op differs from its source. */
export interface CopiedOp {
  readonly inputs: readonly TensorIndex[];
  readonly outputs: readonly TensorIndex[];
  /** Phase of the copy. Default: the phase of the source. */
  readonly phase?: number;
  /** Stack of the copy. Default: the stack of the source. */
  readonly stack?: number;
  /** True if the op's tensors have other sizes than in the source, so that the bytes it moves are unknown. */
  readonly isResized?: boolean;
  /**
   * Attributes of the copy. Default: none, because attributes of the source may contain sizes and refer to its tensors
   * by number.
   */
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/**
 * Copies a trace with changes, to model the same run under other conditions. Modules, calls, stacks and scopes keep
 * their numbers. Storages, tensors and ops get new ones.
 */
export class TraceCopy {
  readonly source: Trace;
  readonly builder: TraceBuilder;
  /** For each op of the source, its latest counterpart. */
  private readonly opFor: IndexColumn<OpIndex>;

  /**
   * @param source the trace to copy
   * @param notes notes to add after those of the source
   */
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

  /** Writes a counterpart of the source's op `op`. */
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

  /**
   * Returns the tensors that the copy writes into, at the same argument positions as in the source. Undefined if the
   * number of arguments differs.
   */
  private written(
    op: OpIndex,
    inputs: readonly TensorIndex[],
    outputs: readonly TensorIndex[],
  ): readonly TensorIndex[] | undefined {
    const { source } = this;
    const { ops } = source;
    if (rowLength(ops.inputs, op) !== inputs.length || rowLength(ops.outputs, op) !== outputs.length) return undefined;
    // Most ops write into nothing.
    if (rowLength(ops.writes, op) === 0) return [];
    const [before, after] = [source.opInputs(op), source.opOutputs(op)];
    return Array.from(row(source.ops.writes, op), (tensor) => {
      const place = after.indexOf(tensor);
      return place < 0 ? inputs[before.indexOf(tensor)] : outputs[place];
    });
  }

  /** Returns the latest counterpart of the source's op `op`, or -1. */
  latestOf(op: OpIndex): OpIndex {
    return op < 0 ? op : this.opFor[op];
  }
}

function rowLength({ start }: Rows, i: number): number {
  return start[i + 1] - start[i];
}
