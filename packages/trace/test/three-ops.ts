import {
  Category,
  OpFlag,
  Phase,
  RuntimeSource,
  SavedAs,
  type StorageIndex,
  type TensorIndex,
  type Trace,
  TraceBuilder,
} from "../src/index.js";
import { moduleIndex } from "../src/index-types.js";

/** One training step of `sum(relu(x · w))` with plain gradient descent, recorded by hand. */
export function threeOps(): Trace {
  const b = new TraceBuilder({
    framework: "tfjs",
    backend: "cpu",
    device: "cpu",
    mode: "real",
    allocationUnitBytes: 1,
  });
  const float = (storage: StorageIndex, ...shape: number[]): TensorIndex =>
    b.tensor({ storage, dtype: "float32", shape });

  const dense = b.call(b.module({ fqn: "net.dense", kind: "Dense", leaf: true }), -1, true);
  const weightStorage = b.allocate(12, "cpu", Category.parameter);
  const weight = float(weightStorage, 3, 1);
  b.moduleWeights(moduleIndex(0), [weight]);
  const inputStorage = b.allocate(24, "cpu", Category.input);
  const input = float(inputStorage, 2, 3);

  b.enterModule(dense, Phase.forward, [input]);
  const stack = b.stackOfCall(dense);
  const productStorage = b.allocate(8, "cpu", Category.activation);
  const product = float(productStorage, 2, 1);
  const matMul = b.op({
    name: "_FusedMatMul",
    stack,
    inputs: [input, weight],
    outputs: [product],
    attributes: { transposeA: false, transposeB: false },
    runtimeMs: 0.25,
    runtimeSource: RuntimeSource.measured,
    runtimeRuns: 9,
    runtimeSpreadMs: 0.0625,
    flops: 12,
    bytesRead: 36,
    bytesWritten: 8,
  });
  b.save(inputStorage, matMul, SavedAs.input, input);
  const rectified = b.allocate(8, "cpu", Category.activation);
  const output = float(rectified, 2, 1);
  const relu = b.op({ name: "Relu", stack, inputs: [product], outputs: [output] });
  b.save(rectified, relu, SavedAs.output, output);
  b.free(productStorage);
  b.exitModule(dense, Phase.forward, [output]);

  const lossStorage = b.allocate(4, "cpu", Category.activation);
  const loss = float(lossStorage);
  const sum = b.op({ name: "Sum", inputs: [output], outputs: [loss] });

  // The gradient of the sum is one for each element: a view, broadcast by strides of zero, of a scalar.
  const oneStorage = b.allocate(4, "cpu", Category.gradient);
  const one = float(oneStorage);
  b.op({ name: "Fill", phase: Phase.backward, flags: OpFlag.source, forwardOp: sum, outputs: [one] });
  const ones = b.tensor({ storage: oneStorage, dtype: "float32", shape: [2, 1], strides: [0, 0] });
  b.enterModule(dense, Phase.backward, [ones]);
  const productGradientStorage = b.allocate(8, "cpu", Category.temporary);
  const productGradient = float(productGradientStorage, 2, 1);
  b.op({
    name: "ReluGrad",
    phase: Phase.backward,
    stack,
    forwardOp: relu,
    inputs: [ones, output],
    outputs: [productGradient],
  });
  b.free(rectified);
  b.free(oneStorage);
  const weightGradientStorage = b.allocate(12, "cpu", Category.temporary);
  const weightGradient = float(weightGradientStorage, 3, 1);
  b.op({
    name: "BatchMatMul",
    phase: Phase.backward,
    stack,
    forwardOp: matMul,
    inputs: [input, productGradient],
    outputs: [weightGradient],
  });
  b.free(productGradientStorage);
  b.categorize(weightGradientStorage, Category.gradient);
  b.exitModule(dense, Phase.backward);

  b.op({
    name: "AssignSubVariable",
    phase: Phase.optimizer,
    flags: OpFlag.inPlace,
    inputs: [weight, weightGradient],
    outputs: [weight],
  });
  b.free(weightGradientStorage);
  b.mark("step");
  return b.build();
}
