/** One tensor that an optimizer keeps for a parameter from step to step. */
export interface KeptState {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** An optimizer that can replace the one of a PyTorch run. */
export interface TorchOptimizer {
  /** The name that selects it. */
  readonly name: string;
  /** The Python code that creates it. */
  readonly code: string;
  /** The op that updates a parameter, in place and without temporaries. */
  readonly op: string;
  /** Returns the states that the optimizer keeps for a parameter. */
  kept(shape: readonly number[], elements: number): readonly KeptState[];
  /** States that exist only once, if any parameter has a state that is not in 32 bits. */
  readonly shared: readonly KeptState[];
}

/** The limit `min_8bit_size`. Below it, both moments stay in float32. */
const fewest8BitElements = 4096;
/** The number of elements that share a scale. */
const blockElements = 256;

/**
 * The 8-bit Adam of bitsandbytes. Both moments take a byte per element, plus the largest value of each block of 256
 * elements in float32. Each moment has a table with the values of the 256 codes.
 *
 * Source: `init_state` of its `optim/optimizer.py`, 0.50.
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

/** Optimizers that can replace the one of a PyTorch run. */
export const torchOptimizers: readonly TorchOptimizer[] = [adamW8Bit];

/**
 * Names that a run's own optimizer may have. It is recognized by the number of states it keeps per parameter, and by
 * its ops.
 */
export const recordedOptimizers: Readonly<Record<string, { readonly states: number; readonly ops?: RegExp }>> = {
  adam: { states: 2, ops: /lerp_|_fused_adam/ },
  adamw: { states: 2, ops: /lerp_|_fused_adam/ },
  sgd: { states: 0 },
};

function twice(state: KeptState): readonly KeptState[] {
  return [state, state];
}
