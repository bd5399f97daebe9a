import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Category, OpFlag, Phase, type Trace, TraceBuilder } from "@remat/trace";
import { type StepRequest, traceFakeStep } from "@remat/tracer";

/** A recorded run of PyTorch, priced. */
export function goldenTrace(name: string): Trace {
  const file = goldenFiles().find((golden) => golden.name === name);
  if (file === undefined) throw new Error(`no golden file ${name}`);
  return priceTrace(readPyTorchTrace(readGolden(file)), deviceSpec("a100"));
}

/** A recorded step of PyTorch with the tensors that autograd saves, and with estimated op times. */
export function savesTrace(): Trace {
  const file = new URL("../../../packages/sharding/test/fixtures/plain-tf.json.gz", import.meta.url);
  return priceTrace(readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(file)).toString())), deviceSpec("a100"));
}

/** A training step of one of the examples, in fake mode, priced. */
export async function exampleTrace(name: string, request: StepRequest): Promise<Trace> {
  const { default: model } = (await import(new URL(`../../../examples/${name}/model.js`, import.meta.url).href)) as {
    readonly default: unknown;
  };
  return priceTrace(await traceFakeStep(model, { ...request, name }), deviceSpec("a100"));
}

export interface StepOptions {
  readonly layers?: number;
  readonly name?: (layer: number) => string;
  readonly opName?: string;
  readonly model?: string;
}

/** A training step: layers of three ops, one of them random, and a backward pass that frees what the forward pass saved. */
export function stepTrace({
  layers = 4,
  name = (layer) => `layer_${layer}`,
  opName = "MatMul",
  model = "net",
}: StepOptions = {}): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model });
  const make = (category: number, elements: number) => {
    const storage = b.allocate(4 * elements, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  const root = b.call(b.module({ fqn: model, kind: "Model", leaf: false }), -1, true);
  const x = make(Category.input, 500);
  b.enterModule(root, Phase.forward, [x.tensor]);
  const done: { inner: number; stack: number; ops: number[]; held: number[] }[] = [];
  let last = x.tensor;
  for (let layer = 0; layer < layers; layer++) {
    const inner = b.call(b.module({ fqn: `${model}.${name(layer)}`, kind: "Layer", leaf: false }), root, true);
    const stack = b.stackOfCall(inner);
    b.enterModule(inner, Phase.forward, [last]);
    const ops: number[] = [];
    const held: number[] = [];
    for (const [kernel, flags, elements, runtimeMs] of [
      [opName, 0, 1000 + 100 * layer, 0.5],
      ["Relu", 0, 1000 + 100 * layer, 0.02],
      ["Reshape", OpFlag.view, 0, 0],
      ["RandomUniform", OpFlag.random, 300, 0.03],
    ] as const) {
      if (flags & OpFlag.view) {
        ops.push(b.op({ name: kernel, stack, inputs: [last], outputs: [last], flags, runtimeMs }));
        continue;
      }
      const out = make(Category.activation, elements);
      ops.push(b.op({ name: kernel, stack, inputs: [last], outputs: [out.tensor], flags, runtimeMs }));
      b.save(out.storage);
      held.push(out.storage);
      last = out.tensor;
    }
    b.exitModule(inner, Phase.forward, [last]);
    done.push({ inner, stack, ops, held });
  }
  b.exitModule(root, Phase.forward, [last]);
  for (const { inner, stack, ops, held } of done.toReversed()) {
    b.enterModule(inner, Phase.backward);
    const saved = b.tensor({ storage: held[0], dtype: "float32", shape: [1000] });
    const out = make(Category.temporary, 1000);
    b.op({
      name: "Mul",
      phase: Phase.backward,
      stack,
      inputs: [last, saved],
      outputs: [out.tensor],
      forwardOp: ops[0],
      runtimeMs: 1,
    });
    last = out.tensor;
    const gradient = make(Category.gradient, 50);
    b.op({ name: "Sum", phase: Phase.backward, stack, inputs: [last], outputs: [gradient.tensor], runtimeMs: 0.1 });
    b.exitModule(inner, Phase.backward);
    for (const storage of held) b.free(storage);
  }
  return b.build();
}
