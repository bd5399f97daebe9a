import { Category, OpFlag, Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";

export interface OpSpec {
  readonly inputs: readonly number[];
  readonly bytes: readonly number[];
  readonly ms: number;
  readonly kind: "plain" | "view" | "inPlace" | "random";
  /** Bytes that the op allocates and frees inside itself. */
  readonly inside: number;
  /** Bytes of a constant that JavaScript makes before it, read by it; 0 for none. */
  readonly constant: number;
  readonly isResult: boolean;
}

export const opSpecs: fc.Arbitrary<OpSpec> = fc.record<OpSpec>({
  inputs: fc.array(fc.nat(100), { maxLength: 3 }),
  bytes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 2 }),
  ms: fc.nat(9),
  kind: fc.oneof(
    { weight: 7, arbitrary: fc.constant("plain" as const) },
    { weight: 2, arbitrary: fc.constant("view" as const) },
    { weight: 2, arbitrary: fc.constant("inPlace" as const) },
    { weight: 1, arbitrary: fc.constant("random" as const) },
  ),
  inside: fc.oneof(fc.constant(0), fc.nat(9)),
  constant: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
  ),
  isResult: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});

/** Traces of a forward and a backward pass over weights and an input, whose temporaries are freed at the end, as a tidy does. */
export const randomTraces: fc.Arbitrary<Trace> = fc
  .tuple(fc.array(opSpecs, { minLength: 1, maxLength: 10 }), fc.array(opSpecs, { minLength: 1, maxLength: 10 }))
  .map(([forward, backward]) => buildTrace(forward, backward));

export function buildTrace(forward: readonly OpSpec[], backward: readonly OpSpec[]): Trace {
  const b = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "random",
  });
  const tensors: number[] = [];
  const storageOf: number[] = [];
  const tensor = (storage: number) => {
    storageOf.push(storage);
    tensors.push(b.tensor({ storage, dtype: "float32", shape: [1] }));
    return tensors[tensors.length - 1];
  };
  tensor(b.allocate(4, "cpu", Category.parameter));
  const input = b.allocate(3, "cpu", Category.input);
  tensor(input);
  const temporary: number[] = [];
  const make = (spec: OpSpec, phase: number) => {
    const inputs = spec.inputs.map((i) => i % tensors.length);
    if (spec.constant > 0) {
      const storage = b.allocate(spec.constant, "cpu");
      inputs.push(tensor(storage));
      temporary.push(storage);
    }
    const isShared = inputs.length > 0 && (spec.kind === "view" || spec.kind === "inPlace");
    const outputs: number[] = [];
    if (isShared) outputs.push(tensor(storageOf[inputs[0]]));
    else
      for (const bytes of spec.bytes) {
        const storage = b.allocate(bytes, "cpu");
        outputs.push(tensor(storage));
        if (!spec.isResult) temporary.push(storage);
      }
    if (spec.inside > 0 && !isShared) b.free(b.allocate(spec.inside, "cpu"));
    const flags = !isShared
      ? spec.kind === "random"
        ? OpFlag.random
        : 0
      : spec.kind === "view"
        ? OpFlag.view
        : OpFlag.inPlace;
    b.op({ name: spec.kind, phase, flags, inputs, outputs, runtimeMs: spec.ms + 0.5 });
  };
  for (const spec of forward) make(spec, Phase.forward);
  for (const spec of backward) make(spec, Phase.backward);
  for (const storage of temporary) b.free(storage);
  b.free(input);
  return b.build();
}
