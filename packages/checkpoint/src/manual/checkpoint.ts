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

/** Runs blocks as plain functions if a plan or a budget decides on recomputation. */
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
/** Callers that have blocks now. */
const watchers = new Set<object>();

/** Enables recomputation of blocks until each watcher has called `unwatchBlocks`. @internal */
export function watchBlocks(watcher: object): void {
  watchers.add(watcher);
  close ??= openDispatchMode(executor);
}

/** Removes a watcher, and closes the hook after the last one. @internal */
export function unwatchBlocks(watcher: object): void {
  watchers.delete(watcher);
  if (watchers.size === 0) endCheckpointing();
}

/**
 * Ends all manual activation checkpointing of functions and layers. They then run without recomputation, and the engine
 * is restored.
 *
 * @example
 * endCheckpointing();
 */
export function endCheckpointing(): void {
  watchers.clear();
  close?.();
  close = undefined;
}

/** Rejects a policy that is not a function. @internal */
export function checkPolicy(name: string, policy: unknown): void {
  checkArgument(
    typeof policy === "function",
    name,
    policy,
    "a function that chooses what to save, such as saveMatmuls",
  );
}

/** Begins a block. Returns undefined outside of a forward pass that computes gradients. @internal */
export const enterBlock = (name: string, policy: SavePolicy, inputs: readonly Tensor[]): Block | undefined =>
  blocks.isActive ? blocks.enter(name, policy, inputs) : undefined;

/** Ends a block. @internal */
export const exitBlock = (block: Block, results: readonly Tensor[] | undefined): void => blocks.exit(block, results);

/**
 * Wraps `fn` in activation checkpointing. When `fn` returns, its intermediate results are evicted, except for the data
 * that `policy` saves. The backward pass recomputes all of them when it first needs one. This corresponds to
 * `torch.utils.checkpoint` and `jax.checkpoint`.
 *
 * Recomputation replays kernels and does not call `fn` again. So side effects do not repeat, dropout masks stay the
 * same, moving statistics are updated once, and results are bitwise identical. Weights and other tensors that `fn`
 * closes over get their gradients. Blocks may be used in layers and in other blocks.
 *
 * Wrap before you take the gradient. A block wrapped during a forward pass recomputes from the next pass on. Under
 * `applyPlan` or `withMemoryBudget`, which make these decisions themselves, a block is a plain function. The same holds
 * in a trace meant for planning (`traceFakeStep` of `@remat/tracer` with `checkpointing: "free"`). Other traces show
 * the recomputation, also in fake mode. `endCheckpointing` ends it.
 *
 * @param fn takes any arguments and returns a tensor, or tensors in lists and objects; must be synchronous
 * @throws RematError `BACKEND_UNSUPPORTED` when a gradient is taken on a third-party backend
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
