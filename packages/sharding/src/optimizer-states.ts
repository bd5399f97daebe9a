/** What an optimizer keeps of a parameter from step to step: one tensor. */
export interface KeptState {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** An optimizer that a run of PyTorch can be given in place of its own. */
export interface TorchOptimizer {
  /** As it is asked for. */
  readonly name: string;
  /** How a program makes it. */
  readonly code: string;
  /** The op that updates a parameter, in place and without temporaries. */
  readonly op: string;
  /** Returns what is kept of a parameter. */
  kept(shape: readonly number[], elements: number): readonly KeptState[];
  /** What is kept once, for all parameters of which some state is not in 32 bits. */
  readonly shared: readonly KeptState[];
}

/** Below, both moments stay in float32: `min_8bit_size`. */
const fewest8BitElements = 4096;
/** Elements that share a scale. */
const blockElements = 256;

/**
 * bitsandbytes' 8-bit Adam: both moments a byte an element, with the largest of each block of 256 in float32, and for each moment a table of what the 256 bytes stand for. Source:
 * `init_state` of its `optim/optimizer.py`, 0.50.
 */
const adamW8Bit: TorchOptimizer = {
  name: "adamw8bit",
  code: "bitsandbytes.optim.AdamW8bit(model.parameters())",
  op: "bitsandbytes.optimizer_update_8bit_blockwise.default",
  kept(shape, elements) {
    if (elements < fewest8BitElements) return twice({ dtype: "float32", shape });
    const blocks = { dtype: "float32", shape: [Math.ceil(elements / blockElements)] };
    return [...twice({ dtype: "uint8", shape }), ...twice(blocks)];
  },
  shared: twice({ dtype: "float32", shape: [256] }),
};

/** Optimizers that a run of PyTorch can be given in place of its own, by name. */
export const torchOptimizers: readonly TorchOptimizer[] = [adamW8Bit];

/** What a run's own optimizer may be called: it is told by what it keeps of parameters, and by its ops. */
export const recordedOptimizers: Readonly<Record<string, { readonly states: number; readonly ops?: RegExp }>> = {
  adam: { states: 2, ops: /lerp_|_fused_adam/ },
  adamw: { states: 2, ops: /lerp_|_fused_adam/ },
  sgd: { states: 0 },
};

function twice(state: KeptState): readonly KeptState[] {
  return [state, state];
}
