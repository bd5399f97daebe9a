import { Category, OpFlag, Phase, RuntimeSource, SavedAs, TraceBuilder } from "@remat/trace";

/** Kernels of a block: name, share of the block's width, flags. */
const kernels = [
  ["_FusedMatMul", 4, 0],
  ["Add", 1, 0],
  ["FusedBatchNormV3", 1, 0],
  ["Relu", 1, 0],
  ["Reshape", 0, OpFlag.view],
  ["Softmax", 2, 0],
  ["Multinomial", 1, OpFlag.random],
  ["Multiply", 1, 0],
];
const backwardKernels = ["MatMul", "Multiply", "ReluGrad"];

/**
 * A training step of a synthetic transformer as tfjs would run it in fake mode, with at least `opCount` ops: 24 stages
 * of blocks, leaves in each block, a backward pass in reverse that frees activations and computes gradients, and an
 * update of the weights. All numbers are the same in every run.
 */
export function largeTrainingStep(opCount) {
  const b = new TraceBuilder({
    framework: "tfjs",
    backend: "tensorflow",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: `made-up step of ${opCount} ops`,
  });
  const stages = 24;
  // Each block has these forward ops, the same number of backward ops, and an update for every weight.
  const blocks = Math.max(1, Math.ceil(opCount / (2 * kernels.length + 2) / stages));
  const make = (elements, category = Category.activation) => {
    const storage = b.allocate(4 * elements, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  const root = b.call(b.module({ fqn: "net", kind: "Transformer", leaf: false }), -1, true);
  const input = make(1 << 16, Category.input);
  const layers = [];
  for (let s = 0; s < stages; s++)
    for (let k = 0; k < blocks; k++)
      layers.push({ stage: s, block: k, weight: make(1 << 14, Category.parameter), ops: [] });
  let last = input;
  let stageCall = -1;
  b.enterModule(root, Phase.forward, [input.tensor]);
  for (const [i, layer] of layers.entries()) {
    if (layer.block === 0) {
      if (stageCall >= 0) b.exitModule(stageCall, Phase.forward, [last.tensor]);
      stageCall = b.call(b.module({ fqn: `net.stage_${layer.stage}`, kind: "Stage", leaf: false }), root, true);
      b.enterModule(stageCall, Phase.forward, [last.tensor]);
    }
    const fqn = `net.stage_${layer.stage}.block_${layer.block}`;
    layer.call = b.call(b.module({ fqn, kind: "Block", leaf: false }), stageCall, true);
    b.enterModule(layer.call, Phase.forward, [last.tensor]);
    const parts = ["dense", "norm"].map((name) =>
      b.call(b.module({ fqn: `${fqn}.${name}`, kind: "Layer", leaf: true }), layer.call, true),
    );
    for (const [k, [name, width, flags]] of kernels.entries()) {
      const part = parts[k < kernels.length / 2 ? 0 : 1];
      if (k % (kernels.length / 2) === 0) b.enterModule(part, Phase.forward, [last.tensor]);
      const isView = (flags & OpFlag.view) !== 0;
      const out = isView
        ? { storage: last.storage, tensor: b.tensor({ storage: last.storage, dtype: "float32", shape: [1, 1 << 14] }) }
        : make(width * ((1 << 14) + ((i * 37 + k * 11) % 512)));
      const op = b.op({
        name,
        phase: Phase.forward,
        stack: b.stackOfCall(part),
        flags,
        inputs: k === 0 ? [last.tensor, layer.weight.tensor] : [last.tensor],
        outputs: [out.tensor],
        runtimeMs: 0.05 + ((i * 7 + k * 13) % 100) / 500,
        runtimeSource: RuntimeSource.measured,
      });
      if (!isView && k % 3 === 0) b.save(out.storage, op, SavedAs.output, out.tensor);
      layer.ops.push({ op, ...out, isView });
      last = out;
      if (k % (kernels.length / 2) === kernels.length / 2 - 1) b.exitModule(part, Phase.forward, [last.tensor]);
    }
    b.exitModule(layer.call, Phase.forward, [last.tensor]);
  }
  b.exitModule(stageCall, Phase.forward, [last.tensor]);
  b.exitModule(root, Phase.forward, [last.tensor]);
  let gradient = make(1 << 14, Category.temporary);
  for (const layer of layers.toReversed()) {
    b.enterModule(layer.call, Phase.backward);
    for (const [k, { op, storage, isView, tensor }] of layer.ops.toReversed().entries()) {
      const out = make(1 << 14, Category.temporary);
      b.op({
        name: backwardKernels[k % backwardKernels.length],
        phase: Phase.backward,
        stack: b.stackOfCall(layer.call),
        forwardOp: op,
        inputs: [gradient.tensor, tensor],
        outputs: [out.tensor],
        runtimeMs: 0.1 + (k % 5) / 50,
        runtimeSource: RuntimeSource.measured,
      });
      b.free(gradient.storage);
      if (!isView) b.free(storage);
      gradient = out;
    }
    layer.gradient = make(1 << 14, Category.gradient);
    b.op({
      name: "MatMul",
      phase: Phase.backward,
      stack: b.stackOfCall(layer.call),
      forwardOp: layer.ops[0].op,
      inputs: [gradient.tensor],
      outputs: [layer.gradient.tensor],
      runtimeMs: 0.2,
      runtimeSource: RuntimeSource.measured,
    });
    b.exitModule(layer.call, Phase.backward);
  }
  for (const { weight, gradient: own } of layers) {
    b.op({
      name: "Sub",
      phase: Phase.optimizer,
      inputs: [weight.tensor, own.tensor],
      outputs: [weight.tensor],
      flags: OpFlag.inPlace,
      runtimeMs: 0.02,
      runtimeSource: RuntimeSource.measured,
    });
    b.free(own.storage);
  }
  return b.build();
}
