import fc from "fast-check";
import { unicodeText } from "../../../tooling/testkit/src/unicode-text.js";
import {
  Category,
  FsdpHook,
  Phase,
  SavedAs,
  type StorageIndex,
  type TensorIndex,
  type Trace,
  TraceBuilder,
  type TraceHeader,
} from "../src/index.js";
import { callIndex, moduleIndex, opIndex, storageIndex, tensorIndex } from "../src/index-types.js";
import { failureCauses } from "../src/memory-failure.js";

/** Names that break careless code: control characters, line separators, lone surrogates, names of object properties. */
export const nameArbitrary: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "",
    "\n",
    "\r\n",
    "\u2028",
    "\u0000",
    '"',
    "\\",
    "\ud800",
    "\udc00x",
    "a\ud83d",
    "😀",
    "ü",
    "block_1.conv",
    "float32[2,3]",
    "]",
    "[",
  ),
  unicodeText(8),
);

/**
 * Names of fields, of what JSON.parse can tell apart: that of Node 24 (V8 13.6) reads `{"\\n":0}` as `{"\\\\":0}` once it has met an object whose
 * only field is a backslash.
 */
const fieldArbitrary = nameArbitrary.filter((name) => name !== "\\");

const jsonArbitrary = fc
  .dictionary(fieldArbitrary, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  // As JSON has it, which knows no -0.
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

const msArbitrary = fc.double({ min: 0, max: 1e9, noNaN: true }).map((x) => x + 0);

const headerArbitrary: fc.Arbitrary<TraceHeader> = fc.record(
  {
    framework: nameArbitrary,
    frameworkVersion: nameArbitrary,
    backend: nameArbitrary,
    device: nameArbitrary,
    mode: fc.constantFrom("fake" as const, "real" as const),
    deviceMemoryBytes: fc.integer({ min: 1 }),
    allocationUnitBytes: fc.constantFrom(1, 512),
    model: nameArbitrary,
    hostMs: msArbitrary,
    checkpointingMs: fc.record({
      frame: msArbitrary,
      selective: msArbitrary,
      save: msArbitrary,
      dispatch: msArbitrary,
      count: msArbitrary,
      rerun: msArbitrary,
    }),
    moduleCount: fc.integer({ min: 1 }),
    libraries: fc.dictionary(fieldArbitrary, nameArbitrary, { maxKeys: 3 }),
    failure: fc.record(
      {
        cause: fc.constantFrom(...failureCauses),
        message: nameArbitrary,
        askedBytes: fc.nat(),
        stepsBefore: fc.nat(),
        program: fc.array(nameArbitrary),
      },
      { requiredKeys: ["cause"] },
    ),
    notes: fc.array(nameArbitrary, { maxLength: 2 }),
  },
  { requiredKeys: ["framework", "device", "mode", "allocationUnitBytes"] },
);

const amountArbitrary = fc.oneof(
  fc.nat(),
  fc.double({ min: 0, max: 1e300, noNaN: true }).map((x) => x + 0),
);

/** One thing that happened; its numbers are taken modulo what there is to choose from. */
interface Step {
  readonly kind: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly list: readonly number[];
  readonly amount: number;
  readonly name: string;
  readonly attributes: Record<string, unknown> | undefined;
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  kind: fc.nat(21),
  a: fc.nat(1000),
  b: fc.nat(1000),
  c: fc.nat(1000),
  list: fc.array(fc.nat(1000), { maxLength: 4 }),
  amount: amountArbitrary,
  name: nameArbitrary,
  attributes: fc.option(jsonArbitrary, { nil: undefined }),
});

/** A run that can be recorded any number of times. */
export interface Run {
  readonly header: TraceHeader;
  readonly steps: readonly Step[];
}

export const runArbitrary: fc.Arbitrary<Run> = fc.record({
  header: headerArbitrary,
  steps: fc.array(stepArbitrary, { maxLength: 60 }),
});

/** The trace of `run`; `afterStep` may look at what has been recorded so far. */
export function record(run: Run, afterStep?: (builder: TraceBuilder, index: number) => void): Trace {
  const builder = new TraceBuilder(run.header);
  run.steps.forEach((step, index) => {
    takeStep(builder, step);
    afterStep?.(builder, index);
  });
  return builder.build();
}

export const traceArbitrary: fc.Arbitrary<Trace> = runArbitrary.map((run) => record(run));

const phaseOf = (n: number): number => n % Object.keys(Phase).length;
const categoryOf = (n: number): number => n % Object.keys(Category).length;

function takeStep(b: TraceBuilder, step: Step): void {
  const { a, b: second, c, list, name } = step;
  const tensors = b.tensorCount === 0 ? [] : list.map((n) => tensorIndex(n % b.tensorCount));
  const storage = (n: number): StorageIndex => storageIndex(n % b.storageCount);
  switch (step.kind) {
    case 0:
    case 1: {
      // The usual op: storages for its outputs are allocated just before it.
      const outputs = list
        .slice(0, 1 + (a % 2))
        .map((size) =>
          b.tensor({ storage: b.allocate(4 * size, undefined, categoryOf(a)), dtype: "float32", shape: [size] }),
        );
      op(b, step, tensors, outputs);
      return;
    }
    case 2:
      op(b, step, tensors, tensors.slice().reverse());
      return;
    case 3: {
      // New tensors and storages in an order of their own, a workspace and several storages to a tensor among them.
      const storages = [0, 1, 2].slice(0, 1 + (a % 3)).map((i) => b.allocate(i, name, categoryOf(second)));
      const pick = (n: number): StorageIndex => storages[n % storages.length];
      const made = list.map((n) =>
        b.tensor({ storage: n % 7 === 0 ? [pick(n), pick(n + 1)] : pick(n), dtype: name, shape: [n, 1] }),
      );
      if (c % 3 === 0) made.reverse();
      op(b, step, c % 2 === 0 ? made.slice(0, c % 4) : tensors, c % 5 === 0 ? [...made, ...made] : made);
      return;
    }
    case 4:
      b.allocate(step.amount, a % 2 === 0 ? undefined : name, categoryOf(second));
      return;
    case 5:
      if (b.storageCount > 0)
        b.tensor({
          storage: list.length > 0 && a % 2 === 0 ? list.map(storage) : storage(a),
          dtype: name,
          shape: list,
          strides: c % 2 === 0 ? undefined : list.map((n) => n - 500),
        });
      return;
    case 6:
      if (b.storageCount > 0) for (const n of list) b.free(storage(n));
      return;
    case 7:
      if (b.storageCount > 0) b.resize(storage(a), step.amount);
      return;
    case 8:
      if (b.storageCount > 0) b.categorize(storage(a), categoryOf(second));
      return;
    case 9:
      b.module({ fqn: name || "net", kind: `${name}Kind`, leaf: a % 2 === 0 });
      return;
    case 10:
    case 11:
      if (b.moduleCount > 0)
        b.call(
          moduleIndex(a % b.moduleCount),
          second % 2 === 0 || b.callCount === 0 ? -1 : callIndex(c % b.callCount),
          c % 2 === 0,
        );
      return;
    case 12:
      if (b.callCount > 0) b.enterModule(callIndex(a % b.callCount), phaseOf(second), tensors);
      return;
    case 13:
      if (b.callCount > 0) b.exitModule(callIndex(a % b.callCount), phaseOf(second), tensors);
      return;
    case 14:
      b.scope(
        name,
        a % 2 === 0 || b.scopeCount === 0 ? -1 : second % b.scopeCount,
        c % 2 === 0 ? {} : { checkpoint: c % 3 === 0 ? "reentrant" : "nonReentrant", line: `${name}.py:${c}` },
      );
      return;
    case 15:
      if (b.scopeCount > 0)
        (a % 2 === 0 ? b.enterScope : b.exitScope).call(b, second % b.scopeCount, c % 2 === 0 ? tensors : undefined);
      return;
    case 16:
      if (b.storageCount > 0)
        b.save(
          storage(a),
          b.opCount === 0 ? -1 : opIndex(second % b.opCount),
          c % Object.keys(SavedAs).length,
          tensors.length === 0 ? -1 : tensors[0],
        );
      return;
    case 17:
      b.mark(name);
      return;
    case 18:
      if (b.moduleCount > 0) b.moduleWeights(moduleIndex(a % b.moduleCount), tensors, tensors.slice(1));
      return;
    case 19:
      if (b.callCount > 0) b.fsdpHook(callIndex(a % b.callCount), phaseOf(second), c % Object.keys(FsdpHook).length);
      return;
    case 20:
      if (b.saveCount > 0) (a % 2 === 0 ? b.unpack : b.unsave).call(b, second % b.saveCount);
      return;
    case 21:
      if (b.storageCount > 0) b.savedOnly(storage(a));
      return;
  }
}

function op(b: TraceBuilder, step: Step, inputs: readonly TensorIndex[], outputs: readonly TensorIndex[]): void {
  const { a, b: second, c, amount } = step;
  b.op({
    name: step.name,
    phase: phaseOf(a),
    flags: second % 64,
    stack:
      b.callCount === 0
        ? 0
        : a % 3 === 0
          ? b.stack(step.list.map((n) => callIndex(n % b.callCount)))
          : b.stackOfCall(callIndex(second % b.callCount)),
    scope: b.scopeCount === 0 ? -1 : (a % (b.scopeCount + 1)) - 1,
    forwardOp: opIndex((c % (b.opCount + 1)) - 1),
    forwardScope: b.scopeCount === 0 ? -1 : (c % (b.scopeCount + 1)) - 1,
    inputs,
    outputs,
    writes: a % 4 === 0 ? inputs.slice(0, 1) : undefined,
    attributes: step.attributes,
    line: a % 2 === 0 ? `${step.name}.js:${a}:1` : undefined,
    ...(c % 3 > 0 && { runtimeMs: amount, runtimeSource: c % 4, runtimeSpreadMs: amount / 2, runtimeRuns: a }),
    ...(c % 2 === 0 && { flops: amount, bytesRead: a, bytesWritten: second }),
  });
}
