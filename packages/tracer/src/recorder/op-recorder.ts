import {
  type DispatchInterceptor,
  type DispatchObserver,
  fasterGradientsNow,
  type GradientScope,
  type InputGradient,
  isVariable,
  type OpCall,
  type OpDone,
  type SavedTensor,
  type Storage,
  type StorageOrigin,
  storagesOf,
  type TapeNode,
  type UpdateCall,
} from "@remat/dispatch-hook";
import { isRepeatable } from "@remat/dispatch-hook/backends";
import {
  Category,
  type CheckpointForm,
  type FasterGradients,
  gradientsEndMark,
  gradientsStartMark,
  minimizeUpdateStartMark,
  OpFlag,
  Phase,
  SavedAs,
  type Trace,
  TraceBuilder,
  type TraceHeader,
  updateEndMark,
  updateStartMark,
} from "@remat/trace";
import type { Tensor, Variable } from "@tensorflow/tfjs-core";
import { recordedAttributes } from "./recorded-attributes.js";
import { RecordedTensors } from "./recorded-tensors.js";
import { SequenceIndex } from "./sequence-index.js";
import { tracedHeader } from "./traced-header.js";

/** Options of `TraceRecorder`. */
export interface TraceRecorderOptions {
  /**
   * Header fields in addition to those that the engine provides, or instead of them: framework, versions, backend,
   * device, mode.
   */
  readonly header?: Partial<TraceHeader>;
  /** True to record work outside of an asynchronous mode as `Phase.outside`. Default: true. */
  readonly outside?: boolean;
  /**
   * Returns the user's source line that runs now, as `file:line:column`. Called before each op except gradient ops.
   * Default: ops have no line.
   */
  readonly sourceLine?: () => string | undefined;
}

/**
 * Name of the program's own scopes, whose inputs and outputs are recorded. Scopes of TensorFlow.js are named after its
 * ops.
 */
const ownGradient = "customGrad";

/** Name of the mark in the trace after each weight update. */
const optimizerStepMark = "optimizerStep";

/**
 * Records everything that {@link TraceRecorder} does, except modules and manually checkpointed blocks, which plans of
 * passes do not use.
 *
 * @internal
 */
export class OpRecorder implements DispatchObserver, DispatchInterceptor {
  /** True if work outside of an asynchronous mode is recorded. */
  readonly seesOutside: boolean;
  /** Builds the trace. */
  protected readonly builder: TraceBuilder;
  private gradientsTaken: FasterGradients | undefined;
  private readonly tensors: RecordedTensors;
  /** Trace indices by sequence number of the op. */
  protected readonly opRows: SequenceIndex = new SequenceIndex();
  /** Trace indices by sequence number of the scope. */
  private readonly scopeRows = new SequenceIndex();
  /** The current {@link Phase}. */
  protected phase: number = Phase.forward;
  private gradientsDepth = 0;
  /** Tensors that were added to a gradient. */
  private readonly addends = new WeakSet<Tensor>();
  private inputRows: number[] = [];
  private readonly sourceLine: (() => string | undefined) | undefined;
  /** Source line of the op that started last, if lines are recorded. */
  protected line: string | undefined;
  /** Source line of each op, if lines are recorded. */
  private readonly lineOfOps: (string | undefined)[] = [];
  /** Source line of each scope, if lines are recorded. */
  private readonly lineOfScopes: (string | undefined)[] = [];

  constructor(options: TraceRecorderOptions = {}) {
    this.builder = new TraceBuilder({ ...tracedHeader(), ...options.header });
    this.tensors = new RecordedTensors(this.builder);
    this.seesOutside = options.outside ?? true;
    this.sourceLine = options.sourceLine;
  }

  /** Returns the trace so far. Later records do not appear in it. */
  trace(): Trace {
    const trace = this.builder.build();
    this.gradientsTaken ??= fasterGradientsNow();
    const { gradientsTaken: fasterGradients } = this;
    return fasterGradients === undefined ? trace : trace.withHeader({ ...trace.header, fasterGradients });
  }

  /** Sets the category of the tensor's storage. For a variable this includes every storage assigned later. */
  categorizeTensor(tensor: Tensor, category: number): void {
    this.tensors.know(tensor, category);
  }

  /** Like {@link categorizeTensor}, unless the tensor's data is already known. */
  protected categorizeFound(tensor: Tensor, category: number): void {
    this.tensors.find(tensor, category);
  }

  /**
   * Records existing data that counts even if no op reads it. Its category comes from the first op that reads it. If no
   * op reads it, it is input.
   */
  holdStorage(storage: Storage): void {
    this.tensors.hold(storage);
  }

  /** Adds a named mark to the trace. */
  mark(name: string): void {
    this.builder.mark(name);
  }

  /** Records the inputs of an op. */
  opStarting(op: OpCall): void {
    // Unknown inputs existed before the op, so their allocation is recorded before the op's own.
    const { inputTensors } = op;
    const rows = new Array<number>(inputTensors.length);
    for (let i = 0; i < rows.length; i++) rows[i] = this.tensors.row(inputTensors[i], this.phase);
    this.inputRows = rows;
    if (this.sourceLine !== undefined) this.line = this.lineOf(op);
  }

  /** Records an op. */
  opDone(op: OpDone): void {
    const { outputs, phase } = op;
    const inputRows = this.inputRows;
    const outputRows = new Array<number>(outputs.length);
    for (let i = 0; i < outputs.length; i++) outputRows[i] = this.tensors.row(outputs[i], this.phase);
    // A kernel replayed in a gradient function belongs to the op that it repeats.
    const node = op.repeats === undefined ? op.differentiates : undefined;
    const row = this.builder.op({
      name: op.kernel,
      phase,
      flags: this.flagsOf(op, inputRows, outputRows),
      stack: this.stackOf(op),
      scope: op.scope === undefined ? -1 : this.scopeRows.get(op.scope.sequence),
      forwardOp: node?.op === undefined ? -1 : this.opRows.get(node.op.sequence),
      forwardScope: node?.scope === undefined ? -1 : this.scopeRows.get(node.scope.sequence),
      inputs: inputRows,
      outputs: outputRows,
      attributes: recordedAttributes(op.attributes),
      line: this.line,
    });
    if (this.sourceLine !== undefined) this.lineOfOps[row] = this.line;
    this.opRows.set(op.sequence, row);
    if (op.accumulatesFrom !== undefined) this.accumulated(op);
  }

  /** Records an allocation. */
  storageAllocated(storage: Storage, origin: StorageOrigin): void {
    this.tensors.storageRow(storage, this.freshCategory(origin));
  }

  /** Records a free. */
  storageReleased(storage: Storage): void {
    this.tensors.free(storage);
  }

  /** Records that data was evicted or restored. */
  storageResized(storage: Storage, bytes: number): void {
    this.tensors.resize(storage, bytes);
  }

  /** Records a `customGrad`. */
  scopeEntered(scope: GradientScope): void {
    const parent = scope.parent === undefined ? -1 : this.scopeRows.get(scope.parent.sequence);
    const row = this.scope(scope.name, parent);
    this.scopeRows.set(scope.sequence, row);
    this.builder.enterScope(row, scope.name === ownGradient ? this.rowsOf(scope.inputs) : undefined);
  }

  /** Records the outputs of a `customGrad`. */
  scopeExited(scope: GradientScope, outputs: readonly Tensor[] | undefined): void {
    const row = this.scopeRows.get(scope.sequence);
    if (row < 0) return;
    this.builder.exitScope(row, scope.name === ownGradient && outputs !== undefined ? this.rowsOf(outputs) : undefined);
  }

  /** Records saved tensors. */
  tensorsSaved(saved: readonly SavedTensor[]): void {
    for (const { op, as, tensor, clone } of saved) {
      const row = op === undefined ? -1 : this.opRows.get(op.sequence);
      for (const storage of storagesOf(clone))
        this.builder.save(
          this.tensors.storageRow(storage, Category.activation),
          row,
          SavedAs[as],
          this.tensors.row(tensor, this.phase),
        );
    }
  }

  /** Records the current phase. */
  phaseChanged(phase: number): void {
    this.phase = phase;
  }

  /** Marks the beginning and end of a pass. */
  gradients(_call: unknown, next: () => { value: Tensor; grads: Tensor[] }): { value: Tensor; grads: Tensor[] } {
    if (this.gradientsDepth === 0) this.builder.mark(gradientsStartMark);
    this.gradientsDepth++;
    try {
      return next();
    } finally {
      this.gradientsTaken ??= fasterGradientsNow();
      this.gradientsDepth--;
      if (this.gradientsDepth === 0) this.builder.mark(gradientsEndMark);
    }
  }

  /** Records the gradients of a node. */
  backwardNodeExited(_node: TapeNode, gradients: readonly InputGradient[]): void {
    for (const { input, gradient } of gradients)
      if (input !== undefined && isVariable(input) && !this.addends.has(gradient)) this.becomeGradient(gradient);
  }

  /** Records the gradients of a pass. */
  gradientsDone(_xs: readonly Tensor[], grads: readonly (Tensor | undefined)[]): void {
    for (const grad of grads) if (grad != null) this.becomeGradient(grad);
  }

  /** Sets the category of the variable's data. */
  variableAssigned(variable: Variable): void {
    this.tensors.know(variable, this.tensors.categoryOf(variable, this.phase));
  }

  /** Marks the beginning and end of a weight update. */
  applyGradients({ isTfjs, ownsGradients }: UpdateCall, next: () => void): void {
    if (!isTfjs) return next();
    this.builder.mark(ownsGradients ? minimizeUpdateStartMark : updateStartMark);
    try {
      next();
    } finally {
      this.builder.mark(updateEndMark);
    }
  }

  /** Marks the end of a step. */
  optimizerStepDone(): void {
    this.builder.mark(optimizerStepMark);
  }

  /** Adds a scope, with its source line if lines are recorded. */
  protected scope(name: string, parent: number, checkpoint?: CheckpointForm): number {
    const line = this.sourceLine?.();
    const row = this.builder.scope(name, parent, { ...(checkpoint && { checkpoint }), ...(line && { line }) });
    this.lineOfScopes[row] = line;
    return row;
  }

  /** Adding to a weight's gradient gives a gradient. The other addend is only a temporary. */
  private accumulated({ inputTensors, outputs }: OpDone): void {
    const [sum, addend] = inputTensors;
    if (addend !== undefined) this.addends.add(addend);
    if (sum !== undefined && this.tensors.isOf(sum, Category.gradient)) this.becomeGradient(outputs[0]);
  }

  /** A gradient function may return its argument. A weight or an input keeps its category. */
  private becomeGradient(tensor: Tensor): void {
    this.tensors.become(tensor, Category.gradient, [Category.activation, Category.temporary, Category.other]);
  }

  /** A gradient op, or one that repeats another, has the source line of the original op. */
  private lineOf({ repeats, differentiates, accumulatesFrom }: OpCall): string | undefined {
    if (repeats !== undefined) return this.lineOfOps[this.opRows.get(repeats)];
    const node = differentiates ?? accumulatesFrom;
    if (node?.op !== undefined) return this.lineOfOps[this.opRows.get(node.op.sequence)];
    if (node?.scope !== undefined) return this.lineOfScopes[this.scopeRows.get(node.scope.sequence)];
    return this.sourceLine?.();
  }

  /** Index of the module call stack around an op. */
  protected stackOf(_op: OpDone): number {
    return 0;
  }

  private flagsOf(op: OpDone, inputRows: readonly number[], outputRows: readonly number[]): number {
    let flags = !op.isOnHost && !op.isInAnyOrder && isRepeatable(op.kernel, op.backend) ? 0 : OpFlag.random;
    if (op.kernel === "Identity") flags |= OpFlag.sacSkip;
    for (const output of outputRows)
      for (const input of inputRows)
        if (this.tensors.storageOf(output) === this.tensors.storageOf(input)) return flags | OpFlag.view;
    return flags;
  }

  /** Returns the trace indices of tensors. */
  protected rowsOf(tensors: readonly Tensor[]): number[] {
    return tensors.map((tensor) => this.tensors.row(tensor, this.phase));
  }

  /** True outside of module calls, where data made by JavaScript may be program input. */
  protected isOutsideCalls(): boolean {
    return true;
  }

  private freshCategory(origin: StorageOrigin): number {
    if (origin === "save") return Category.activation;
    if (origin === "op") {
      if (this.phase === Phase.forward) return Category.activation;
      return this.phase === Phase.outside ? Category.other : Category.temporary;
    }
    if (this.phase !== Phase.forward) return Category.temporary;
    return this.isOutsideCalls() && this.gradientsDepth === 0 ? Category.input : Category.other;
  }
}
