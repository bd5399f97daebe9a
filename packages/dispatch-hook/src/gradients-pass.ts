import type { Tensor } from "@tensorflow/tfjs-core";
import type { InputGradient, TapeNode } from "./engine-records.js";
import type { WantedGradients } from "./gradients/replaced-gradient.js";
import type { PrunedTape } from "./release/pruned-tape.js";

/** One running call of `engine.gradients`. @internal */
export interface GradientsPass {
  readonly around: GradientsPass | undefined;
  /** The node whose gradient function called `gradients`, if any. */
  readonly aroundNode: TapeNode | undefined;
  /** True after the forward function has returned. The next `tidy('backward')` is then the engine's. */
  awaitsBackward: boolean;
  node: TapeNode | undefined;
  gradients: InputGradient[];
  /**
   * True if the node's last gradient is computed and needs no Add. The node ends when the tidy around that gradient
   * does.
   */
  nodeOver: boolean;
  /** Ids of tensors that have received a gradient. */
  readonly reached: Set<number>;
  /** Set while the tape grows, in a pass that saves only tensors that will be read. */
  prunedTape: PrunedTape | undefined;
  /** Gradients that replace those of TensorFlow.js, known once all modes were asked. */
  wanted: WantedGradients;
  /** True if saved tensors share the data of the original. */
  sharesSaved: boolean;
  readonly xs: readonly Tensor[];
  /** The gradient just computed. If the next op outside of every node is an Add, it accumulates this gradient. */
  contribution: { readonly consumer: TapeNode; readonly input: Tensor | undefined; readonly last: boolean } | undefined;
}
