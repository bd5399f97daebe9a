// Statistics, greedy order, trade-off curve and two-segment fit of every module of a trace of a million ops in a thousand modules, nested
// three deep. Usage: node tooling/bench/sac-core.js [ops [modules]]
import { greedyOrder, sacStats, tradeOff } from "@remat/sac-core";
import { OpFlag, TraceBuilder } from "@remat/trace";

const opCount = Number(process.argv[2] ?? 1_000_000);
const moduleCount = Number(process.argv[3] ?? 1000);

/** Numbers from 0 to 1, the same at every run. */
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

/** A root, some thirty stages in it, and blocks in these; an eighth of the ops in-place, a quarter views. */
function largeTrace() {
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

const trace = largeTrace();
console.log(`${trace.ops.count} ops, ${trace.modules.length} modules`);
for (let round = 0; round < 3; round++) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const stats = [...sacStats(trace).values()];
  const ordered = performance.now();
  const orders = stats.map(greedyOrder);
  const traded = performance.now();
  stats.forEach((one, i) => tradeOff(one, orders[i], { nSegments: 2 }));
  const end = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  const ms = (value) => `${value.toFixed(0)} ms`;
  console.log(
    `sacStats ${ms(ordered - start)}, greedyOrder ${ms(traded - ordered)}, tradeOff ${ms(end - traded)}, in all ${ms(end - start)}` +
      ` (${ms((user + system) / 1000)} of CPU), ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB resident`,
  );
}
