import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak, readMemoryEvents } from "@remat/memory";
import { CheckpointedSteps } from "@remat/memory/checkpointing";
import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Category, Phase, type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { withOptimizer } from "../src/index.js";

const goldens = goldenFiles()
  .filter(({ name }) => /^mem_(02|03|04|mlp4_adam|tf_b2_adam|vit|min)/.test(name))
  .map((file) => ({ name: file.name, file: readGolden(file) }));
const fixture = (name: string): unknown =>
  JSON.parse(gunzipSync(readFileSync(new URL(`./fixtures/${name}.json.gz`, import.meta.url))).toString());
const fixtures = ["blocks-adam-64", "blocks-adam-4096", "blocks-sgd-64", "blocks-sgd-4096", "plain-tf"].map((name) => ({
  name,
  file: fixture(name),
}));
const recorded = [...goldens, ...fixtures];

/** Elements of each parameter, as the exporter's file lists them by module. */
function parametersOf(file: unknown): readonly number[] {
  const { module_tree, tensors } = file as {
    readonly module_tree: readonly { readonly params?: readonly (readonly [string, number])[] }[];
    readonly tensors: readonly { readonly sh: readonly number[] }[];
  };
  const ids = new Set(module_tree.flatMap(({ params = [] }) => params.map(([, id]) => id)));
  return [...ids].map((id) => tensors[id].sh.reduce((product, n) => product * n, 1));
}

/**
 * Bytes that bitsandbytes' `AdamW8bit` keeps for parameters with these numbers of elements, according to its source.
 */
function keptBytes(parameters: readonly number[]): number {
  let bytes = 0;
  for (const elements of parameters)
    bytes += elements < 4096 ? 8 * elements : 2 * elements + 2 * 4 * Math.ceil(elements / 256);
  return bytes + (parameters.some((elements) => elements >= 4096) ? 2 * 4 * 256 : 0);
}

/** After each op that is no update: what is held of optimizer states, and of all else. */
function heldAfterOps(trace: Trace): { states: number; others: number }[] {
  const category = Int8Array.from(trace.storages.category);
  const live = new Map<number, number>();
  const told: { states: number; others: number }[] = [];
  readMemoryEvents(trace, {
    allocate: (storage) => void live.set(storage, trace.storages.bytes[storage]),
    free: (storage) => void live.delete(storage),
    resize: (storage, bytes) => void (live.has(storage) && live.set(storage, bytes)),
    categorize: (storage, to) => void (category[storage] = to),
    op(op) {
      if (trace.ops.phase[op] === Phase.optimizer) return;
      const sums = { states: 0, others: 0 };
      for (const [storage, bytes] of live)
        sums[category[storage] === Category.optimizerState ? "states" : "others"] += bytes;
      told.push(sums);
    },
  });
  return told;
}

describe.each(recorded)("$name with adamw8bit", ({ file }) => {
  const trace = readPyTorchTrace(file);
  const swapped = withOptimizer(trace, "adamw8bit");
  const [before, after] = [heldAfterOps(trace), heldAfterOps(swapped)];

  it("keeps in the end what bitsandbytes keeps of the parameters", () => {
    expect(after.at(-1)?.states).toBe(keptBytes(parametersOf(file)));
  });

  it("has its state from the beginning where the recorded one has, or where that keeps none", () => {
    const isThere = (before[0].states > 0 || before.at(-1)?.states === 0) && after[0].states > 0;
    expect(isThere || (before[0].states === 0 && after[0].states === 0)).toBe(true);
  });

  it("changes nothing else, at no time", () => {
    expect(after.map(({ others }) => others)).toEqual(before.map(({ others }) => others));
  });
});

it("can be checkpointed as the recorded run can, with the same saved and recomputed", () => {
  const trace = read("plain-tf");
  const policy = [{ fqn: "Transformer.layers.0", saved: [] }];
  const under = (run: Trace) => heldAfterOps(new CheckpointedSteps(run).under(policy, ""));
  const swapped = under(withOptimizer(trace, "adamw8bit"));
  expect(swapped.map(({ others }) => others)).toEqual(under(trace).map(({ others }) => others));
  expect(Math.max(...swapped.map(({ others }) => others))).toBeLessThan(
    Math.max(...heldAfterOps(trace).map(({ others }) => others)),
  );
});

const read = (name: string): Trace => readPyTorchTrace(recorded.find((each) => each.name === name)?.file);

/**
 * Steps of one model in a dtype, with `torch.optim.AdamW`, `torch.optim.SGD`, and `AdamW8bit` of bitsandbytes 0.50.2:
 * an embedding, layers, and weights that are too small for 8 bits or have an incomplete block.
 */
const net = (optimizer: string, dtype: string): Trace => readPyTorchTrace(fixture(`net-${optimizer}-${dtype}`));

it.each(["adam", "sgd"].flatMap((optimizer) => ["float32", "bfloat16"].map((dtype) => [optimizer, dtype] as const)))(
  "holds of a step recorded with %s in %s what one recorded with bitsandbytes holds, to the byte",
  (optimizer, dtype) => {
    const { peakBytes, bytesByCategory } = heldPeak(net("adamw8bit", dtype));
    expect(heldPeak(withOptimizer(net(optimizer, dtype), "adamw8bit"))).toMatchObject({ peakBytes, bytesByCategory });
  },
);

it.each([64, 4096])("is the same whichever optimizer was recorded, at batch %i", (batch) => {
  const ofSgd = withOptimizer(read(`blocks-sgd-${batch}`), "adamw8bit");
  const ofAdam = withOptimizer(read(`blocks-adam-${batch}`), "adamw8bit");
  expect(heldPeak(ofAdam)).toMatchObject({ peakBytes: heldPeak(ofSgd).peakBytes });
});

/** A step of two weights that lie in one storage, one that is frozen, and one of bfloat16, which reads in place of Adam what `optimizer` is given. */
function step(dtype = "float32"): Trace {
  const b = new TraceBuilder({
    framework: "pytorch",
    device: "cuda:0",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "net",
  });
  const flat = b.allocate(4 * (5000 + 10), "cuda:0", Category.parameter);
  const weights = [[50, 100], [10]].map((shape) => b.tensor({ storage: flat, dtype: "float32", shape }));
  const own = (shape: readonly number[], type: string, bytes: number, category: number): number =>
    b.tensor({ storage: b.allocate(bytes, "cuda:0", category), dtype: type, shape });
  const frozen = own([9000], "float32", 36_000, Category.parameter);
  const half = own([64, 65], dtype, 2 * 64 * 65, Category.parameter);
  b.moduleWeights(b.module({ fqn: "net", kind: "Net", leaf: true }), [...weights, frozen, half]);
  const read = b.op({ name: "aten.relu.default", inputs: [...weights, frozen, half], outputs: [] });
  const gradients = [...weights, half].map((weight) => {
    const shape = [...b.build().tensorShape(weight)];
    return own(shape, "float32", 4, Category.gradient);
  });
  b.op({ name: "aten.relu_backward.default", phase: Phase.backward, forwardOp: read, outputs: gradients });
  [...weights, half].forEach((weight, i) =>
    b.op({ name: "aten.add_.Tensor", phase: Phase.optimizer, inputs: [weight, gradients[i]], outputs: [weight] }),
  );
  return b.build();
}

it("counts parameters of one storage one by one, leaves out what is frozen, and keeps the state of bfloat16 in 8 bits, too", () => {
  const swapped = withOptimizer(step("bfloat16"), "adamw8bit");
  expect(heldAfterOps(swapped)[0].states).toBe(keptBytes([5000, 10, 64 * 65]));
  const updates = Array.from({ length: swapped.ops.count }, (_, op) => op).filter(
    (op) => swapped.ops.phase[op] === Phase.optimizer,
  );
  expect(updates.map((op) => [swapped.opName(op), swapped.opInputs(op).length])).toEqual([
    ["bitsandbytes.optimizer_update_8bit_blockwise.default", 8],
    ["bitsandbytes.optimizer_update_8bit_blockwise.default", 4],
    ["bitsandbytes.optimizer_update_8bit_blockwise.default", 8],
  ]);
});

describe("the optimizer that was recorded", () => {
  it.each([
    ["blocks-adam-64", "adam"],
    ["mem_mlp4_adam", "adamw"],
    ["blocks-sgd-64", "sgd"],
  ])("of %s is %s, of which the run is as it is", (name, optimizer) => {
    const trace = read(name);
    expect(withOptimizer(trace, optimizer)).toBe(trace);
  });

  it.each([
    [
      "blocks-adam-64",
      "sgd",
      "was not recorded with sgd: its optimizer keeps 2 tensors of the shape of each parameter",
    ],
    [
      "blocks-sgd-64",
      "adam",
      "was not recorded with adam: its optimizer keeps no tensor of the shape of each parameter",
    ],
    ["mem_03_mlp_sgdm", "sgd", "keeps 1 tensors of the shape"],
    ["blocks-adam-64", "lion", 'unknown optimizer "lion" for a recorded run. Use one of adam, adamw, sgd, adamw8bit'],
  ])("of %s is not %s: it is refused", (name, optimizer, message) => {
    expect(() => withOptimizer(read(name), optimizer)).toThrow(message);
  });
});

it("refuses a run that updates nothing, and parameters that are no numbers with a fraction", () => {
  const b = new TraceBuilder({
    framework: "pytorch",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "net",
  });
  expect(() => withOptimizer(b.build(), "adamw8bit")).toThrow("net updates no parameters");
  expect(() => withOptimizer(step("int16"), "adamw8bit")).toThrow("does not support parameters of int16");
  const tfjs = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "net",
  });
  expect(() => withOptimizer(tfjs.build(), "adamw8bit")).toThrow("cannot change net, a recorded run of tfjs");
});
