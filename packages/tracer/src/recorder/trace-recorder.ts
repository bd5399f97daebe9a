import type { CheckpointedBlock } from "@remat/dispatch-hook";
import type { Tensor } from "@tensorflow/tfjs-core";
import { OpRecorder } from "./op-recorder.js";

export type { TraceRecorderOptions } from "./op-recorder.js";

/**
 * A dispatch mode that writes a trace. It knows ops, storages, scopes, phases and what autograd saves by itself; which module runs is told
 * to it by `enterCall` and `exitCall` (`@remat/mod-tracker` does that), and then each backward op gets the calls of its forward op.
 *
 * Data that was there before is recorded when it is first seen: variables as parameters (not trainable: buffers, or optimizer state in
 * the optimizer phase), other data as input. Data made in JavaScript while recording is input outside of module calls and gradients, else
 * other. The output of an op is an activation in the forward pass and a temporary after it, until it proves to be a gradient or gets
 * into a variable.
 *
 * @example
 * const recorder = new TraceRecorder({ header: { model: "mlp" } });
 * withDispatchMode(recorder, () => optimizer.minimize(() => loss(model.predict(x))));
 * const trace = recorder.trace();
 */
export class TraceRecorder extends OpRecorder {
  /** Of blocks that are checkpointed by hand, and of those that run, innermost last. */
  private readonly blockRows = new WeakMap<CheckpointedBlock, number>();
  private readonly runningBlocks: number[] = [];

  blockEntered(block: CheckpointedBlock): void {
    const row = this.scope(block.name, this.runningBlocks.at(-1) ?? -1, "replayed");
    this.blockRows.set(block, row);
    this.runningBlocks.push(row);
    this.builder.enterScope(row, this.rowsOf(block.inputs));
  }

  blockExited(block: CheckpointedBlock, results: readonly Tensor[]): void {
    const row = this.blockRows.get(block);
    if (row === undefined) return;
    this.runningBlocks.pop();
    this.builder.exitScope(row, this.rowsOf(results));
  }

  override recomputationStarting(ops: readonly number[], block: CheckpointedBlock | undefined): void {
    const row = block && this.blockRows.get(block);
    if (row !== undefined) this.builder.enterScope(row);
    super.recomputationStarting(ops);
  }

  override recomputationOver(block: CheckpointedBlock | undefined): void {
    super.recomputationOver();
    const row = block && this.blockRows.get(block);
    if (row !== undefined) this.builder.exitScope(row);
  }
}
