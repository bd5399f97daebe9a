import { OpFlag, Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";

const kernels = ["Add", "Exp", "BatchMatMul", "Reshape", "Sum", "GatherV2", "Concat", "NotAKernel"] as const;

/** Small tfjs traces: ops of several kernels, some flagged as views, in a few nested modules and all phases. */
export const randomTrace: fc.Arbitrary<Trace> = fc
  .array(
    fc.record({
      name: fc.constantFrom(...kernels),
      shape: fc.array(fc.integer({ min: 0, max: 64 }), { minLength: 2, maxLength: 3 }),
      dtype: fc.constantFrom("float32", "int32", "bool"),
      view: fc.boolean(),
      module: fc.integer({ min: -1, max: 4 }),
      phase: fc.constantFrom(...Object.values(Phase)),
    }),
    { maxLength: 40 },
  )
  .map((ops) => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const calls: number[] = [];
    for (let i = 0; i < 5; i++) {
      const parent = i < 2 ? -1 : calls[i >> 1];
      const module = b.module({ fqn: `net.${"child.".repeat(i)}m`, kind: "Module", leaf: false });
      calls.push(b.call(module, parent, true));
    }
    for (const { name, shape, dtype, view, module, phase } of ops) {
      const tensor = () => b.tensor({ storage: b.allocate(64), dtype, shape });
      const flags = view ? OpFlag.view : 0;
      const stack = b.stackOfCall(module < 0 ? -1 : calls[module]);
      b.op({ name, phase, flags, stack, inputs: [tensor(), tensor()], outputs: [tensor()], attributes: {} });
    }
    return b.build();
  });
