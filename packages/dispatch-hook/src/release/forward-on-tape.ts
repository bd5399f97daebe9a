import type { Tensor } from "@tensorflow/tfjs-core";
import { type EngineTapeNode, engineInternals } from "../engine-internals.js";
import { nodesFromTo } from "./tape-path.js";

/** The result of a forward pass, with the tensors it saved for the backward pass. */
export interface TapedForward {
  /** The result, in the caller's scope. */
  readonly y: Tensor;
  /** Tensors saved for the gradients of `y` with respect to the xs, by node in the order of the tape. */
  readonly saved: readonly (readonly Tensor[])[];
}

/**
 * Runs `forward` as the engine does for a gradient, passes the saved tensors to `look`, and then frees them without a
 * backward pass.
 *
 * @throws any error of `forward`, after the tape is freed
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
