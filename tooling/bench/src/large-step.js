import { Category, OpFlag, Phase, RuntimeSource, SavedAs, TraceBuilder } from "@remat/trace";

/** Random numbers from 0 to 1, the same in every run. */
function randomNumbers(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const kernels = [
  ["BatchMatMul", 0],
  ["Add", 0],
  ["Reshape", OpFlag.view],
  ["Multiply", 0],
  ["Softmax", 0],
  ["Transpose", 0],
  ["Relu", 0],
  ["RandomUniform", OpFlag.random],
];

/**
 * A training step of about `opCount` ops: layers in stages, each with weights and saved activations of irregular sizes,
 * a backward pass that frees them from the last layer to the first, and an optimizer. Times are random to the last bit,
 * which compresses worst.
 */
export function largeStep(opCount) {
  const random = randomNumbers(11);
  const b = new TraceBuilder({
    framework: "tfjs",
    frameworkVersion: "4.22.0",
    backend: "tensorflow",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "large",
  });
  const opsPerLayer = 40;
  const layers = Math.max(1, Math.round(opCount / (opsPerLayer * 3 + 1)));
  const layersPerStage = 48;
  const make = (category, elements) => {
    const storage = b.allocate(4 * elements, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  const call = (fqn, kind, parent, leaf) => b.call(b.module({ fqn, kind, leaf }), parent, true);
  const run = (name, phase, stack, inputs, outputs, flags = 0, forwardOp = -1) =>
    b.op({
      name,
      phase,
      stack,
      inputs,
      outputs,
      flags,
      ...(forwardOp >= 0 && { forwardOp }),
      runtimeMs: 0.01 + random(),
      runtimeSource: RuntimeSource.roofline,
      flops: Math.floor(random() * 1e9),
      bytesRead: 4096 * Math.ceil(random() * 1000),
      bytesWritten: 4096 * Math.ceil(random() * 1000),
    });
  const root = call("large", "Model", -1, false);
  const x = make(Category.input, 1 << 20);
  b.enterModule(root, Phase.forward, [x.tensor]);
  const done = [];
  let last = x.tensor;
  let stage = root;
  for (let layer = 0; layer < layers; layer++) {
    if (layer % layersPerStage === 0) {
      if (stage !== root) b.exitModule(stage, Phase.forward, [last]);
      stage = call(`large.stage_${layer / layersPerStage}`, "Stage", root, false);
      b.enterModule(stage, Phase.forward, [last]);
    }
    const inner = call(`large.stage_${Math.floor(layer / layersPerStage)}.layer_${layer}`, "Layer", stage, false);
    const stack = b.stackOfCall(inner);
    const weight = make(Category.parameter, 4096);
    b.enterModule(inner, Phase.forward, [last]);
    const ops = [];
    const held = [];
    for (let i = 0; i < opsPerLayer; i++) {
      const [name, flags] = kernels[i === 0 ? 0 : Math.floor(random() * kernels.length)];
      if (flags & OpFlag.view) {
        ops.push(run(name, Phase.forward, stack, [last], [last], flags));
        continue;
      }
      const out = make(Category.activation, 1 + Math.floor(random() * 1e5));
      const op = run(name, Phase.forward, stack, i === 0 ? [last, weight.tensor] : [last], [out.tensor], flags);
      ops.push(op);
      if (random() < 0.7) b.save(out.storage, op, SavedAs.output, out.tensor);
      held.push(out.storage);
      last = out.tensor;
    }
    b.exitModule(inner, Phase.forward, [last]);
    done.push({ inner, stack, ops, held });
  }
  if (stage !== root) b.exitModule(stage, Phase.forward, [last]);
  b.exitModule(root, Phase.forward, [last]);
  for (const { inner, stack, ops, held } of done.toReversed()) {
    b.enterModule(inner, Phase.backward);
    const gone = [];
    for (const op of ops.toReversed())
      for (let i = 0; i < 2; i++) {
        const out = make(Category.temporary, 1 + Math.floor(random() * 5e4));
        run(i === 0 ? "Multiply" : "BatchMatMul", Phase.backward, stack, [last], [out.tensor], 0, op);
        last = out.tensor;
        gone.push(out.storage);
        if (gone.length > 3) b.free(gone.shift());
      }
    const gradient = make(Category.gradient, 4096);
    run("Sum", Phase.backward, stack, [last], [gradient.tensor]);
    b.exitModule(inner, Phase.backward);
    for (const storage of [...held, ...gone]) b.free(storage);
  }
  return b.build();
}
