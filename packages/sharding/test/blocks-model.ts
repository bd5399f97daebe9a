import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";

export interface BlocksOptions {
  readonly blocks?: number;
  readonly steps?: number;
  /** Rows of each block's weight of 4 columns. */
  readonly rows?: number;
  /** True if modules list the parameters that they own. */
  readonly declared?: boolean;
  /** True if the trace records when modules' backward passes begin and end. */
  readonly backwardEvents?: boolean;
  /** True if an update puts a new storage in a parameter's place, as tfjs's `assign` does. */
  readonly replaces?: boolean;
  readonly allocationUnitBytes?: number;
  readonly device?: string;
  /** True if gradients are identified as such only at the end of the backward pass. */
  readonly lateGradients?: boolean;
}

/**
 * Training steps of `net`: blocks `net.blocks.0` … with a weight [rows, 4] each, and a head [5] of the root's own; optimizer with one slot per
 * parameter. Activations have 100 elements, so sizes are easy to tell apart.
 */
export function blocksModel(options: BlocksOptions = {}): Trace {
  const {
    blocks = 2,
    steps = 1,
    rows = 10,
    declared = true,
    backwardEvents = true,
    replaces = false,
    device = "gpu:0",
  } = options;
  const unit = options.allocationUnitBytes ?? 1;
  const b = new TraceBuilder({ framework: "tfjs", device, mode: "fake", allocationUnitBytes: unit });
  const make = (shape: readonly number[], category: number) => {
    const storage = b.allocate(4 * shape.reduce((product, n) => product * n, 1), device, category);
    return { storage, shape, tensor: b.tensor({ storage, dtype: "float32", shape }) };
  };
  const net = b.module({ fqn: "net", kind: "Net", leaf: false });
  const block = Array.from({ length: blocks }, (_, i) =>
    b.module({ fqn: `net.blocks.${i}`, kind: "Block", leaf: true }),
  );
  const weights = [...block.map(() => make([rows, 4], Category.parameter)), make([5], Category.parameter)];
  if (declared) {
    for (const [i, module] of block.entries()) b.moduleWeights(module, [weights[i].tensor]);
    b.moduleWeights(
      net,
      weights.map(({ tensor }) => tensor),
    );
  }
  const slots = weights.map(({ shape }) => make(shape, Category.optimizerState));
  const x = make([25, 4], Category.input);
  const run = (name: string, phase: number, stack: number, inputs: readonly number[], shape: readonly number[]) => {
    const category =
      phase === Phase.forward
        ? Category.activation
        : phase === Phase.optimizer
          ? Category.optimizerState
          : Category.temporary;
    const result = make(shape, category);
    b.op({ name, phase, stack, inputs, outputs: [result.tensor] });
    return result;
  };
  for (let step = 0; step < steps; step++) {
    if (step > 0) b.mark("resetModStats");
    const root = b.call(net, -1, true);
    const calls = block.map((module) => b.call(module, root, true));
    b.enterModule(root, Phase.forward, [x.tensor]);
    const activations = [x];
    for (const [i, call] of calls.entries()) {
      b.enterModule(call, Phase.forward, [activations[i].tensor]);
      const inputs = [activations[i].tensor, weights[i].tensor];
      activations.push(run("MatMul", Phase.forward, b.stackOfCall(call), inputs, [25, 4]));
      b.exitModule(call, Phase.forward, [activations[i + 1].tensor]);
    }
    const headInputs = [activations[blocks].tensor, weights[blocks].tensor];
    const out = run("Head", Phase.forward, b.stackOfCall(root), headInputs, [25, 4]);
    b.exitModule(root, Phase.forward, [out.tensor]);
    const gradients: ReturnType<typeof make>[] = [];
    const backward = (call: number, kind: "enterModule" | "exitModule") => {
      if (backwardEvents) b[kind](call, Phase.backward);
    };
    backward(root, "enterModule");
    let dy = run("HeadGrad", Phase.backward, b.stackOfCall(root), [out.tensor], [25, 4]);
    gradients[blocks] = run("HeadWeightGrad", Phase.backward, b.stackOfCall(root), [dy.tensor], [5]);
    if (!options.lateGradients) b.categorize(gradients[blocks].storage, Category.gradient);
    for (let i = blocks - 1; i >= 0; i--) {
      const stack = b.stackOfCall(calls[i]);
      backward(calls[i], "enterModule");
      gradients[i] = run("MatMul", Phase.backward, stack, [dy.tensor, activations[i].tensor], [rows, 4]);
      if (!options.lateGradients) b.categorize(gradients[i].storage, Category.gradient);
      const before = dy;
      // The input of the model needs no gradient.
      if (i > 0) dy = run("MatMul", Phase.backward, stack, [dy.tensor, weights[i].tensor], [25, 4]);
      if (i > 0) b.free(before.storage);
      b.free(activations[i + 1].storage);
      backward(calls[i], "exitModule");
    }
    if (options.lateGradients) for (const { storage } of gradients) b.categorize(storage, Category.gradient);
    backward(root, "exitModule");
    b.free(dy.storage);
    b.free(out.storage);
    for (const [i, weight] of weights.entries()) {
      const slot = run("Add", Phase.optimizer, 0, [slots[i].tensor, gradients[i].tensor], weight.shape);
      if (replaces) {
        b.free(slots[i].storage);
        slots[i] = slot;
        const updated = run("Sub", Phase.optimizer, 0, [weight.tensor, slot.tensor], weight.shape);
        b.categorize(updated.storage, Category.parameter);
        b.free(weight.storage);
        weights[i] = updated;
      } else b.free(slot.storage);
    }
    for (const { storage } of gradients) b.free(storage);
  }
  return b.build();
}
