import { OpFlag, TraceBuilder } from "@remat/trace";

/** Random numbers from 0 to 1, the same in every run. */
function randomNumbers(seed) {
  return () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
}

const kinds = [
  ["mm", 0],
  ["add", 0],
  ["mul", 0],
  ["softmax", 0],
  ["relu_", OpFlag.inPlace],
  ["view", OpFlag.view],
  ["t", OpFlag.view],
  ["native_dropout", OpFlag.random],
];

/**
 * A forward pass of PyTorch: a root, about thirty stages in it, and blocks in these. An eighth of the ops are in-place,
 * a quarter are views.
 */
export function largeTrace(opCount, moduleCount) {
  const random = randomNumbers(7);
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
  const enter = (fqn, parent) => {
    const call = b.call(b.module({ fqn, kind: "Block", leaf: false }), parent, true);
    b.enterModule(call);
    return call;
  };
  const stages = Math.max(1, Math.min(30, Math.floor(moduleCount / 3)));
  const blocks = Math.max(1, Math.floor((moduleCount - 1 - stages) / stages));
  const opsPerBlock = Math.ceil(opCount / (stages * blocks));
  const root = enter("Net", -1);
  for (let s = 0; s < stages; s++) {
    const stage = enter(`Net.stage${s}`, root);
    for (let m = 0; m < blocks; m++) {
      const block = enter(`Net.stage${s}.block${m}`, stage);
      let last = -1;
      for (let i = 0; i < opsPerBlock && b.opCount < opCount; i++) {
        const [name, flags] = kinds[last < 0 ? 0 : Math.floor(random() * kinds.length)];
        const makes = !(flags & (OpFlag.inPlace | OpFlag.view));
        const inputs = last < 0 ? [] : [last];
        if (makes) {
          last = b.tensor({ storage: b.allocate(Math.floor(random() * 1e6)), dtype: "float32", shape: [1] });
          if (random() < 0.5) b.save(b.storageCount - 1);
        }
        b.op({
          name: `aten.${name}.default`,
          inputs,
          outputs: [last],
          flags,
          stack: b.stackOfCall(block),
          runtimeMs: random(),
        });
      }
      b.exitModule(block);
    }
    b.exitModule(stage);
  }
  b.exitModule(root);
  return b.build();
}
