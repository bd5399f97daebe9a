import type { CheckpointedBlock, GradientScope, OpCall, OpDone, TapeNode } from "@remat/dispatch-hook";
import { optimizerSlots } from "@remat/mod-tracker";
import { Category, checkArgument, type Module, Phase } from "@remat/trace";
import { Tensor } from "@tensorflow/tfjs-core";
import { OpRecorder } from "./op-recorder.js";
import { RecomputedCalls } from "./recomputed-calls.js";
import { SequenceIndex } from "./sequence-index.js";

export type { TraceRecorderOptions } from "./op-recorder.js";

/**
 * A dispatch mode that records a trace. It observes ops, storages, scopes, phases and saved tensors itself. Modules
 * must be reported through `enterCall` and `exitCall`, as `@remat/mod-tracker` does. Each backward op then gets the
 * module calls of its forward op.
 *
 * Existing data is recorded when it is first seen: trainable variables as parameters, others as buffers (or optimizer
 * state in the optimizer phase), other data as input. Data that JavaScript makes during recording is input if it is
 * made outside of module calls and gradients. Otherwise it is `other`. The output of an op is an activation in the
 * forward pass and a temporary after it, until it turns out to be a gradient or is assigned to a variable.
 *
 * @example
 * const recorder = new TraceRecorder({ header: { model: "mlp" } });
 * withDispatchMode(recorder, () => optimizer.minimize(() => loss(model.predict(x))));
 * const trace = recorder.trace();
 */
export class TraceRecorder extends OpRecorder {
  /** Scopes of manually checkpointed blocks. */
  private readonly blockRows = new WeakMap<CheckpointedBlock, number>();
  /** Scopes of the open blocks, innermost last. */
  private readonly runningBlocks: number[] = [];
  /** Module call around each tape node. */
  private readonly callOfNodes = new SequenceIndex();
  /** Module call around each scope. */
  private readonly callOfScopes = new SequenceIndex();
  /** Module call around each op. */
  private readonly callOfOps: number[] = [];
  /** For each call, the call that was active before it. */
  private readonly callsBefore: number[] = [];
  private call = -1;
  /** Number of open module calls inside a gradient function. */
  private recomputations = 0;
  /** Module calls whose ops are being replayed. */
  private readonly recomputed = new RecomputedCalls({
    enter: (call) => this.builder.enterModule(call, Phase.recompute),
    exit: (call) => this.builder.exitModule(call, Phase.recompute),
  });

  /** Index of the innermost open module call, or -1. */
  get activeCall(): number {
    return this.call;
  }

  /** Adds a module and returns its index in the trace. */
  module(module: Module): number {
    return this.builder.module(module);
  }

  /** Records the parameters and buffers of `module`, including its submodules. Their storages get these categories. */
  moduleWeights(module: number, parameters: readonly Tensor[], buffers: readonly Tensor[] = []): void {
    for (const tensor of parameters) this.categorizeTensor(tensor, Category.parameter);
    for (const tensor of buffers) this.categorizeTensor(tensor, Category.buffer);
    this.builder.moduleWeights(module, this.rowsOf(parameters), this.rowsOf(buffers));
  }

  /**
   * Records the existing tensors of `external`: the weights of a layer or model, the state of an optimizer, or a
   * tensor. A tensor is `other` unless it is already known.
   *
   * @throws RematError `ARGUMENT` for anything else
   * @example
   * recorder.trackExternal(model);
   */
  trackExternal(external: object): void {
    if (external instanceof Tensor) {
      if (!external.isDisposed) this.categorizeFound(external, Category.other);
      return;
    }
    const { weights, minimize } = external as { weights?: unknown; minimize?: unknown };
    if (typeof minimize === "function") {
      for (const slot of optimizerSlots(external)) this.categorizeTensor(slot, Category.optimizerState);
      return;
    }
    checkArgument(Array.isArray(weights), "trackExternal's argument", external, "a layer, an optimizer or a tensor");
    for (const { val, trainable } of weights as readonly { val: Tensor; trainable: boolean }[])
      this.categorizeTensor(val, trainable ? Category.parameter : Category.buffer);
  }

  /**
   * Begins a call of `module` inside `parent`, by default the active call. Returns its index in the trace. A forward
   * call inside a gradient function is a recomputation.
   */
  enterCall(module: number, inputs: readonly Tensor[], parent: number = this.call): number {
    const call = this.builder.call(module, parent, inputs.length > 0);
    this.recomputed.callMade(call, parent);
    this.callsBefore[call] = this.call;
    this.call = call;
    const phase = this.forwardPhase();
    if (phase === Phase.recompute) this.recomputations++;
    this.builder.enterModule(call, phase, this.rowsOf(inputs));
    return call;
  }

  /** Ends a call of a module. */
  exitCall(call: number, outputs: readonly Tensor[]): void {
    this.call = this.callsBefore[call];
    const phase = this.forwardPhase();
    if (phase === Phase.recompute) this.recomputations--;
    this.builder.exitModule(call, phase, this.rowsOf(outputs));
  }

  /** Records that the backward pass reaches a forward call, with the gradients of its outputs. */
  enterBackward(call: number, gradients: readonly Tensor[]): void {
    this.builder.enterModule(call, Phase.backward, this.rowsOf(gradients));
  }

  /** Records the end of a call's backward pass, with the gradients of its inputs. */
  exitBackward(call: number, gradients: readonly Tensor[]): void {
    this.builder.exitModule(call, Phase.backward, this.rowsOf(gradients));
  }

  /** Returns the module call around a tape node's forward op, or -1. */
  callOfNode(node: TapeNode): number {
    return this.callOfNodes.get(node.sequence);
  }

  /** Records the inputs of an op, and opens module calls that it recomputes. */
  override opStarting(op: OpCall): void {
    if (op.repeats !== undefined) this.recomputed.reach(this.callOfRow(this.opRows.get(op.repeats)));
    super.opStarting(op);
  }

  /** Records a `customGrad` with its module call. */
  override scopeEntered(scope: GradientScope): void {
    this.callOfScopes.set(scope.sequence, this.call);
    super.scopeEntered(scope);
  }

  /** Records the module call of a tape node. */
  tapeNodeAdded(node: TapeNode): void {
    const { op, scope } = node;
    const row = op === undefined ? -1 : this.opRows.get(op.sequence);
    const call =
      row >= 0 ? this.callOfOps[row] : scope === undefined ? this.call : this.callOfScopes.get(scope.sequence);
    this.callOfNodes.set(node.sequence, call);
  }

  /** Records the beginning of a checkpointed block. */
  blockEntered(block: CheckpointedBlock): void {
    const row = this.scope(block.name, this.runningBlocks.at(-1) ?? -1, "replayed");
    this.blockRows.set(block, row);
    this.runningBlocks.push(row);
    this.builder.enterScope(row, this.rowsOf(block.inputs));
  }

  /** Records the end of a checkpointed block. */
  blockExited(block: CheckpointedBlock, results: readonly Tensor[]): void {
    const row = this.blockRows.get(block);
    if (row === undefined) return;
    this.runningBlocks.pop();
    this.builder.exitScope(row, this.rowsOf(results));
  }

  /** Records the beginning of a recomputation. */
  recomputationStarting(ops: readonly number[], block?: CheckpointedBlock): void {
    const row = block && this.blockRows.get(block);
    if (row !== undefined) this.builder.enterScope(row);
    this.recomputed.start(ops.map((sequence) => this.callOfRow(this.opRows.get(sequence))));
  }

  /** Records the end of a recomputation. */
  recomputationOver(block?: CheckpointedBlock): void {
    this.recomputed.end();
    const row = block && this.blockRows.get(block);
    if (row !== undefined) this.builder.exitScope(row);
  }

  /** Index of the module call stack around an op. */
  protected override stackOf(op: OpDone): number {
    const call = this.callOf(op);
    // The row that the op is about to get.
    this.callOfOps[this.builder.opCount] = call;
    if (op.phase === Phase.forward) this.recomputed.countOp(call);
    return this.builder.stackOfCall(call);
  }

  /** True outside of module calls. */
  protected override isOutsideCalls(): boolean {
    return this.call < 0;
  }

  private forwardPhase(): number {
    return this.phase === Phase.backward || this.phase === Phase.recompute ? Phase.recompute : Phase.forward;
  }

  private callOf(op: OpDone): number {
    if (op.phase === Phase.outside) return -1;
    if (op.repeats !== undefined) return this.callOfRow(this.opRows.get(op.repeats));
    // Ops inside a module call of a gradient function belong to that call.
    if (this.recomputations > 0) return this.call;
    const node = op.differentiates ?? op.accumulatesFrom;
    return node === undefined ? this.call : this.callOfNode(node);
  }

  private callOfRow(row: number): number {
    return row < 0 ? -1 : this.callOfOps[row];
  }
}
