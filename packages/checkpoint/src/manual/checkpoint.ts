import {
  type CloseMode,
  type DispatchPolicy,
  type GradientsCall,
  type GradientsResult,
  isCheckpointingDecided,
  openDispatchMode,
  type RunGradients,
  type UpdateCall,
} from "@remat/dispatch-hook";
import { checkArgument } from "@remat/trace";
import { Tensor } from "@tensorflow/tfjs-core";
import { Executor } from "../executor/executor.js";
import type { Block } from "./block.js";
import { Blocks } from "./blocks.js";
import { type SavePolicy, saveNothing } from "./save-policies.js";

const blocks = new Blocks();

/** Leaves passes to what decides for itself what is recomputed, as a plan and a budget do. */
class BlockExecutor extends Executor {
  override get decidesCheckpointing(): boolean {
    return false;
  }

  override get releasesEarly(): boolean {
    return !isCheckpointingDecided();
  }

  override get sharesOnes(): boolean {
    return !isCheckpointingDecided();
  }

  override get sharesSaved(): boolean {
    return !isCheckpointingDecided();
  }

  override get fasterGradients(): DispatchPolicy["fasterGradients"] {
    return isCheckpointingDecided() ? undefined : super.fasterGradients;
  }

  override get updatesInBackward(): boolean | undefined {
    return isCheckpointingDecided() ? undefined : super.updatesInBackward;
  }

  override gradients(call: GradientsCall, next: RunGradients): GradientsResult {
    return isCheckpointingDecided() ? next() : super.gradients(call, next);
  }

  override applyGradients(call: UpdateCall, next: () => void): void {
    if (isCheckpointingDecided()) next();
    else super.applyGradients(call, next);
  }

  phaseChanged(phase: number): void {
    blocks.phaseChanged(phase);
  }
}

const executor = new BlockExecutor(blocks);
let close: CloseMode | undefined;
/** Who has blocks now. */
const watchers = new Set<object>();

/** From here on passes recompute their blocks; until `unwatchBlocks` was called for each watcher. @internal */
export function watchBlocks(watcher: object): void {
  watchers.add(watcher);
  close ??= openDispatchMode(executor);
}

/** Closes the hook where nobody has blocks any more. @internal */
export function unwatchBlocks(watcher: object): void {
  watchers.delete(watcher);
  if (watchers.size === 0) endCheckpointing();
}

/**
 * Ends all checkpointing by hand, of functions and of layers: they run as they are, and the engine is as before.
 *
 * @example
 * endCheckpointing();
 */
export function endCheckpointing(): void {
  watchers.clear();
  close?.();
  close = undefined;
}

/** Refuses a policy that is no function. @internal */
export function checkPolicy(name: string, policy: unknown): void {
  checkArgument(typeof policy === "function", name, policy, "a function that tells what to save, such as saveMatmuls");
}

/** Begins a block, or returns undefined where none can be: outside of a forward pass of which gradients are wanted. @internal */
export const enterBlock = (name: string, policy: SavePolicy, inputs: readonly Tensor[]): Block | undefined =>
  blocks.isActive ? blocks.enter(name, policy, inputs) : undefined;

/** @internal */
export const exitBlock = (block: Block, results: readonly Tensor[] | undefined): void => blocks.exit(block, results);

/**
 * Returns a block whose inside is recomputed in the backward pass: when `fn` is over, what it made is evicted, except for its results and what `policy`
 * saves, and recomputed when the backward pass first needs any of it. Kernels are replayed, not `fn`: no side effect repeats, a dropout mask
 * stays as it was drawn, moving statistics are updated once, weights and whatever else `fn` closes over get their gradients, and values are the
 * same to the bit. Blocks may stand in layers and in other blocks. As `torch.utils.checkpoint` and `jax.checkpoint`.
 *
 * Wrap before the gradient is taken: a block wrapped while a forward pass runs recomputes from the next on. Under `applyPlan` or
 * `withMemoryBudget` a block is an ordinary function, since these decide, and so it is in a trace that is to be planned (`traceFakeStep` of
 * `@remat/tracer` with `checkpointing: "free"`); other traces show what is recomputed, in fake mode too. `endCheckpointing` ends it.
 *
 * @param fn takes anything, returns a tensor, or tensors in lists and objects; synchronous
 * @throws RematError `BACKEND_UNSUPPORTED`, when a gradient is taken, on backends other than tfjs's own
 * @example
 * const block = checkpoint((x) => tf.relu(tf.matMul(tf.gelu(tf.matMul(x, w1)), w2)), saveMatmuls);
 * optimizer.minimize(() => loss(block(block(x))));
 */
export function checkpoint<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  policy: SavePolicy = saveNothing,
): (...args: A) => R {
  checkArgument(typeof fn === "function", "checkpoint's fn", fn, "a function of tensors, such as (x) => tf.relu(x)");
  checkPolicy("checkpoint's policy", policy);
  watchBlocks(blocks);
  return (...args) => {
    const block = enterBlock(fn.name === "" ? "checkpoint" : fn.name, policy, tensorsIn(args));
    if (block === undefined) return fn(...args);
    let results: Tensor[] | undefined;
    try {
      const result = fn(...args);
      results = tensorsIn(result);
      return result;
    } finally {
      exitBlock(block, results);
    }
  };
}

function tensorsIn(result: unknown): Tensor[] {
  if (result instanceof Tensor) return [result];
  if (result === null || typeof result !== "object") return [];
  return Object.values(result).flatMap(tensorsIn);
}
