import type { Tensor } from "@tensorflow/tfjs-core";
import type { InputGradient, TapeNode } from "./engine-records.js";
import type { WantedGradients } from "./gradients/replaced-gradient.js";
import type { PrunedTape } from "./release/pruned-tape.js";

/** One call of `engine.gradients` while it runs. @internal */
export interface GradientsPass {
  readonly around: GradientsPass | undefined;
  /** The node whose gradient function called `gradients`, if any. */
  readonly aroundNode: TapeNode | undefined;
  /** The forward function has returned; the next `tidy('backward')` is the engine's. */
  awaitsBackward: boolean;
  node: TapeNode | undefined;
  gradients: InputGradient[];
  /** The node's last gradient is computed and needs no Add: the node is over once the tidy around that gradient is. */
  nodeOver: boolean;
  /** Ids of tensors that have got a gradient. */
  readonly reached: Set<number>;
  /** While a tape grows on which only what will be read stays saved. */
  prunedTape: PrunedTape | undefined;
  /** Which gradients run in the place of tfjs's own: known when every mode has had its say. */
  wanted: WantedGradients;
  /** Whether what is saved is on the data that it was saved of. */
  sharesSaved: boolean;
  readonly xs: readonly Tensor[];
  /** The gradient just computed: an Add that comes next, outside every node, accumulates it. */
  contribution: { readonly consumer: TapeNode; readonly input: Tensor | undefined; readonly last: boolean } | undefined;
}
