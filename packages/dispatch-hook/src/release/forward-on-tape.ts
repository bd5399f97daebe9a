import type { Tensor } from "@tensorflow/tfjs-core";
import { type EngineTapeNode, engineInternals } from "../engine-internals.js";
import { nodesFromTo } from "./tape-path.js";

/** What a forward pass left on the tape for the backward pass. */
export interface TapedForward {
  /** The result, in the caller's scope. */
  readonly y: Tensor;
  /** What is held for the gradients of `y` with respect to the xs, node by node, in the order of the tape. */
  readonly saved: readonly (readonly Tensor[])[];
}

/**
 * Runs `forward` as the engine does for a gradient, hands what it would hold to `look`, and frees it without a backward pass.
 *
 * @throws whatever `forward` throws; the tape is gone then, too
 * @example
 * const held = forwardOnTape(() => model.apply(x), weights, ({ saved }) => saved.flat().length);
 */
export function forwardOnTape<T>(forward: () => Tensor, xs: readonly Tensor[], look: (taped: TapedForward) => T): T {
  const engine = engineInternals();
  const { state } = engine;
  const around = state.activeTape;
  let tape: EngineTapeNode[] = [];
  engine.startTape();
  try {
    let y: Tensor;
    try {
      y = engine.tidy("forward", forward) as Tensor;
    } finally {
      tape = (state.activeTape ?? []) as EngineTapeNode[];
      engine.endTape();
    }
    return look({ y, saved: nodesFromTo(tape, xs, y).map((node) => node.saved ?? []) });
  } finally {
    if (state.gradientDepth === 0) {
      for (const { saved } of tape) for (const tensor of saved ?? []) tensor.dispose();
      state.activeTape = around;
    }
  }
}
