import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";

/**
 * A training step of `layers` layers: each layer multiplies, adds and applies a nonlinearity; each backward op reads the gradient and what
 * the layer saved. Everything but weights and gradients of weights is freed at the end, as stock tfjs does.
 */
export function trainingTrace(layers: number): Trace {
  const b = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "layers",
  });
  const make = (bytes: number, category: number = Category.activation) => {
    const storage = b.allocate(bytes, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [bytes / 4] }) };
  };
  type Made = ReturnType<typeof make>;
  const temporary: Made[] = [];
  const run = (
    name: string,
    phase: number,
    stack: number,
    inputs: readonly Made[],
    bytes: number,
    ms: number,
  ): Made => {
    const output = make(bytes);
    b.op({ name, phase, stack, inputs: inputs.map(({ tensor }) => tensor), outputs: [output.tensor], runtimeMs: ms });
    return output;
  };
  const weights = Array.from({ length: layers }, () => make(40, Category.parameter));
  let x = make(400, Category.input);
  const saved = weights.map((weight, l) => {
    const call = b.call(b.module({ fqn: `net.layer_${l}`, kind: "Dense", leaf: true }), -1, true);
    const stack = b.stackOfCall(call);
    const input = x;
    const product = run("MatMul", Phase.forward, stack, [input, weight], 400, 10);
    const sum = run("Add", Phase.forward, stack, [product, input], 400, 1);
    x = run("Tanh", Phase.forward, stack, [sum], 400, 2);
    temporary.push(product, sum, x);
    return { stack, weight, input, output: x };
  });
  let gradient = run("Fill", Phase.backward, 0, [], 400, 1);
  temporary.push(gradient);
  for (const { stack, weight, input, output } of saved.reverse()) {
    const inner = run("TanhGrad", Phase.backward, stack, [gradient, output], 400, 2);
    run("MatMul", Phase.backward, stack, [inner, input], 40, 10);
    const product = run("MatMul", Phase.backward, stack, [inner, weight], 400, 10);
    gradient = run("Add", Phase.backward, stack, [product, inner], 400, 1);
    temporary.push(inner, product, gradient);
  }
  for (const { storage } of temporary) b.free(storage);
  return b.build();
}
