import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";

export interface TrainingStep {
  readonly trace: Trace;
  readonly builder: TraceBuilder;
}

/** One step of a dense layer under a model, as tfjs would run it: forward, loss, backward, update by momentum. Sizes in elements of 4 bytes. */
export function trainingStep(steps = 1, mark?: string): TrainingStep {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1, model: "tiny" });
  const make = (shape: readonly number[], category: number) => {
    const bytes = shape.reduce((product, n) => product * n, 4);
    const storage = b.allocate(bytes, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape }) };
  };
  const model = b.module({ fqn: "model", kind: "Sequential", leaf: false });
  const dense = b.module({ fqn: "model.dense", kind: "Dense", leaf: true });
  const kernel = make([8, 3], Category.parameter);
  const bias = make([3], Category.parameter);
  const mean = make([5], Category.buffer);
  const slots = [make([8, 3], Category.optimizerState), make([3], Category.optimizerState)];
  const x = make([10, 8], Category.input);
  for (let step = 0; step < steps; step++) {
    if (step > 0 && mark !== undefined) b.mark(mark);
    const outer = b.call(model, -1, true);
    const inner = b.call(dense, outer, true);
    const stack = b.stackOfCall(inner);
    b.enterModule(outer, Phase.forward, [x.tensor]);
    b.enterModule(inner, Phase.forward, [x.tensor]);
    b.moduleWeights(dense, [kernel.tensor, bias.tensor]);
    b.moduleWeights(model, [kernel.tensor, bias.tensor], [mean.tensor]);
    const product = make([10, 3], Category.activation);
    b.op({ name: "_FusedMatMul", stack, inputs: [x.tensor, kernel.tensor, bias.tensor], outputs: [product.tensor] });
    // A kernel that casts its input: the copy lives only inside.
    const copy = b.allocate(1000, "cpu", Category.temporary);
    const out = make([10, 3], Category.activation);
    b.free(copy);
    b.op({ name: "Softmax", stack, inputs: [product.tensor], outputs: [out.tensor] });
    b.exitModule(inner, Phase.forward, [out.tensor]);
    b.exitModule(outer, Phase.forward, [out.tensor]);
    const loss = make([], Category.activation);
    b.op({ name: "Mean", inputs: [out.tensor], outputs: [loss.tensor] });
    b.enterModule(outer, Phase.backward);
    b.enterModule(inner, Phase.backward);
    const dy = make([10, 3], Category.temporary);
    b.op({
      name: "SoftmaxGrad",
      phase: Phase.backward,
      stack,
      inputs: [out.tensor, loss.tensor],
      outputs: [dy.tensor],
    });
    const gradients = [make([8, 3], Category.temporary), make([3], Category.temporary)];
    const outputs = gradients.map(({ tensor }) => tensor);
    b.op({ name: "MatMul", phase: Phase.backward, stack, inputs: [x.tensor, dy.tensor], outputs });
    for (const { storage } of gradients) b.categorize(storage, Category.gradient);
    b.exitModule(inner, Phase.backward);
    b.exitModule(outer, Phase.backward);
    for (const { storage } of [product, out, loss, dy]) b.free(storage);
    for (const [i, slot] of slots.entries()) {
      const sum = make(i === 0 ? [8, 3] : [3], Category.optimizerState);
      const inputs = [slot.tensor, gradients[i].tensor];
      b.op({ name: "Add", phase: Phase.optimizer, inputs, outputs: [sum.tensor] });
      b.free(sum.storage);
    }
    for (const { storage } of gradients) b.free(storage);
  }
  return { trace: b.build(), builder: b };
}
