import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type DispatchMode, withDispatchMode } from "../src/index.js";
import { readersOf } from "../src/release/readers-of.js";
import { allGenerators } from "./kernels/generators/all-generators.js";
import type { KernelCase, TensorSpec } from "./kernels/generators/kernel-case.js";

const functionsOfTfjs = "../src/gradients/function-of-tfjs.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

/**
 * Kernels of tfjs-core that have a gradient and save something for it. tfjs's gradient of resizing to an empty tensor
 * never ends.
 */
const kernels = Object.keys(allGenerators).filter((kernel) => {
  if (kernel.startsWith("Resize")) return false;
  const gradient = tf.getGradient(kernel);
  return gradient !== undefined && (gradient.saveAllInputs || gradient.inputsToSave || gradient.outputsToSave);
});

interface Case extends KernelCase {
  /** Which of the inputs, in turn, a gradient is asked of. */
  readonly asked: readonly boolean[];
}

const caseOf = (kernel: string): fc.Arbitrary<Case> =>
  fc
    .tuple(allGenerators[kernel], fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }))
    .map(([{ inputs, attributes }, asked]) => ({ inputs: floats(inputs), attributes: attributes ?? {}, asked }));

/** Gradients are of numbers; of conditions and indices there are none. */
function floats(inputs: KernelCase["inputs"]): KernelCase["inputs"] {
  const asFloat = (spec: TensorSpec): TensorSpec => (spec.dtype === "int32" ? { ...spec, dtype: "float32" } : spec);
  if (Array.isArray(inputs)) return inputs.map(asFloat);
  const named = Object.entries(inputs as Record<string, TensorSpec>);
  return Object.fromEntries(
    named.map(([name, spec]) => [name, /indices|segmentIds/i.test(name) ? spec : asFloat(spec)]),
  );
}

function tensorOf({ shape, dtype, values }: TensorSpec): tf.Tensor {
  const size = tf.util.sizeFromShape([...shape]);
  const filled = values ?? Array.from({ length: size }, (_, i) => (dtype === "float32" ? 0.25 + (i % 5) : i % 2));
  return tf.tensor(filled as number[], [...shape], dtype as "float32");
}

/** Runs a kernel forward and backward, and returns the gradients or the error. */
function differentiate(kernel: string, { inputs, attributes, asked }: Case): unknown {
  const engine = tf.engine();
  engine.startScope();
  try {
    const tensors = Array.isArray(inputs)
      ? inputs.map(tensorOf)
      : Object.fromEntries(Object.entries(inputs).map(([name, spec]) => [name, tensorOf(spec as TensorSpec)]));
    const xs = (Object.values(tensors) as tf.Tensor[]).filter((_, i) => asked[i]);
    const forward = () => {
      const result = engine.runKernel(kernel, tensors as never, structuredClone(attributes) as never);
      return [result].flat()[0] as tf.Tensor;
    };
    const { value, grads } = engine.gradients(forward, xs);
    return [value, ...grads].map((tensor) => tensor && [tensor.dtype, tensor.shape, [...tensor.dataSync()]]);
  } catch (error) {
    return (error as Error).message;
  } finally {
    engine.endScope();
  }
}

/**
 * For each tensor that the kernel saves, by index: the number of them, and which ones its gradient function reads.
 * Undefined if there is no gradient.
 */
function observe(kernel: string, given: Case): { saved: number; read: Set<number> } | undefined {
  let clones: readonly tf.Tensor[] = [];
  let read: Set<number> | undefined;
  const observer: DispatchMode = {
    tensorsSaved(saved) {
      if (saved[0]?.op?.kernel === kernel && clones.length === 0) clones = saved.map(({ clone }) => clone);
    },
    backwardNodeEntered(node) {
      if (node.op?.kernel === kernel) read ??= new Set();
    },
    opStarting({ inputTensors }) {
      for (const tensor of inputTensors) if (clones.includes(tensor)) read?.add(clones.indexOf(tensor));
    },
  };
  const result = withDispatchMode(observer, () => differentiate(kernel, given));
  return read && typeof result !== "string" ? { saved: clones.length, read } : undefined;
}

/** Indices of saved tensors that are not read if the gradients in `wanted` are requested. */
function unreadSaved(kernel: string, saved: number, wanted: readonly string[]): number[] {
  return [...Array(saved).keys()].filter(
    (i) => !(readersOf(kernel, i) ?? wanted).some((name) => wanted.includes(name)),
  );
}

describe.each(kernels)("%s", (kernel) => {
  test("is known to leave unread what it never reads, and no more", () => {
    const everRead = new Map<string, Set<number>>();
    const known = new Map<string, readonly number[]>();
    const cases = fc.sample(caseOf(kernel), { numRuns: 200, seed: 1 });
    // The hook stays for all: to put it in takes longer than a kernel.
    const observed = withDispatchMode({}, () => cases.map((given) => observe(kernel, given)));
    for (const [i, given] of cases.entries()) {
      const seen = observed[i];
      if (seen === undefined) continue;
      const wanted = Object.keys(given.inputs).filter((_, i) => given.asked[i]);
      const read = everRead.get(`${wanted} of ${seen.saved}`) ?? new Set();
      for (const i of seen.read) read.add(i);
      everRead.set(`${wanted} of ${seen.saved}`, read);
      known.set(`${wanted} of ${seen.saved}`, unreadSaved(kernel, seen.saved, wanted));
    }
    const unread = [...everRead].map(([wanted, read]): [string, number[]] => {
      const saved = Number(wanted.split(" ").at(-1));
      return [wanted, [...Array(saved).keys()].filter((i) => !read.has(i))];
    });
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(unread));
  });

  test("gradients without it are stock's, to the bit", () => {
    fc.assert(
      fc.property(caseOf(kernel), (given) => {
        const { numTensors, numDataBuffers } = tf.memory();
        const pruned = withDispatchMode({ releasesEarly: true, prunesSaved: true }, () => differentiate(kernel, given));
        // Stock leaks what it has made where a kernel fails.
        if (typeof pruned !== "string") expect(tf.memory()).toMatchObject({ numTensors, numDataBuffers });
        expect(pruned).toEqual(differentiate(kernel, given));
      }),
      { numRuns: 40 },
    );
  });
});

describe("a gradient that a user has registered in the place of one of tfjs's", () => {
  const { gradFunc, ...add } = tf.getGradient("Add")!;
  afterEach(() => {
    tf.registerGradient({ ...add, gradFunc });
    vi.doUnmock(functionsOfTfjs);
  });
  const own: typeof gradFunc = (dy, saved) => ({
    a: () => tf.mul(dy as tf.Tensor, saved[0]),
    b: () => tf.mul(dy as tf.Tensor, saved[1]),
  });
  /** Loads the package as a program does that registers a gradient first. */
  async function loadLate(): Promise<() => unknown> {
    vi.resetModules();
    const late = await import("../src/index.js");
    return () => late.withDispatchMode({ releasesEarly: true, prunesSaved: true }, gradientsOfSum);
  }

  function gradientsOfSum(): unknown {
    const run = (a: tf.Tensor, b: tf.Tensor) =>
      tf.grads((x, y) => tf.add(tf.square(x), tf.square(y)) as tf.Tensor)([a, b]);
    return tf.tidy(() => run(tf.tensor([1, 2]), tf.tensor([3, 4])).map((gradient) => [...gradient.dataSync()]));
  }
  const early = () => withDispatchMode({ releasesEarly: true, prunesSaved: true }, gradientsOfSum);

  test("reads what it has saved, though tfjs's own does not", () => {
    expect(early()).toEqual(gradientsOfSum());
    tf.registerGradient({ ...add, gradFunc: own });
    const stock = gradientsOfSum();
    expect(stock).not.toEqual([
      [2, 4],
      [6, 8],
    ]);
    expect(early()).toEqual(stock);
  });

  test("reads it, too, where it was registered before remat was loaded", async () => {
    tf.registerGradient({ ...add, gradFunc: own });
    const late = await loadLate();
    expect(late()).toEqual(gradientsOfSum());
  });

  test("is refused in a build of tfjs whose functions have other texts, if registered before remat was loaded, and leaves nothing", async () => {
    vi.doMock(functionsOfTfjs, () => ({ functionDigest: String, isFunctionOfTfjs: () => false }));
    const unknown = await loadLate();
    expect(unknown()).toEqual(gradientsOfSum());
    tf.registerGradient({ ...add, gradFunc: own });
    // Registered since it was loaded, it is known to be somebody's.
    expect(unknown()).toEqual(gradientsOfSum());
    const late = await loadLate();
    const { numTensors, numBytes } = tf.memory();
    expect(late).toThrow(
      expect.objectContaining({
        code: "SAVED_GONE",
        message: expect.stringMatching(/ Register the gradient after importing remat,/),
      }),
    );
    expect(tf.memory()).toMatchObject({ numTensors, numBytes });
    expect(gradientsOfSum()).toEqual(gradientsOfSum());
  });

  test("is tfjs's where another copy of tfjs has registered the same", () => {
    // oxlint-disable-next-line typescript/no-implied-eval -- the text is tfjs's own.
    const copy = new Function("tf", `return ${String(gradFunc)}`)(tf) as typeof gradFunc;
    tf.registerGradient({ ...add, gradFunc: copy });
    expect(readersOf("Add", 0)).toEqual([]);
    tf.registerGradient({ ...add, gradFunc: (...given) => gradFunc(...given) });
    expect(readersOf("Add", 0)).toBeUndefined();
  });
});
