import { type GradFunc, Tensor } from "@tensorflow/tfjs-core";
import { type EngineInternals, engineInternals } from "../engine-internals.js";
import { PatchSet } from "../patch-set.js";
import { digestOf } from "./text-digest.js";

/** A test case for a gradient function: attributes, and the shapes of dy and of the saved tensors. */
type Trial = readonly [attributes: object, dy: readonly number[], ...saved: (readonly number[])[]];

const normalized = [[2, 3, 5, 7], [2, 3, 5, 7], [7], [7]] as const;
const reduced: readonly Trial[] = [
  [{ axis: [1], keepDims: false }, [2, 5], [2, 3, 5]],
  [{ axis: -1, keepDims: true }, [2, 1], [2, 3]],
];

/**
 * For each kernel, test cases for each branch of TensorFlow.js's function that is replaced, and the digest of its
 * actions in them. The digest is the same in each build of TensorFlow.js 4.17 to 4.22.
 */
const known: Readonly<Record<string, readonly [digest: string, ...Trial[]]>> = {
  FusedBatchNorm: [
    "7fc26ce0",
    [{ varianceEpsilon: 0.5 }, ...normalized, [7]],
    [{ varianceEpsilon: 0.5 }, ...normalized],
  ],
  Mean: ["4c9734a5", ...reduced],
  Sum: ["18cec04b", ...reduced],
  Tile: [
    "c50eed13",
    [{ reps: [2] }, [6], [3]],
    [{ reps: [2, 1] }, [4, 3], [2, 3]],
    [{ reps: [1, 2, 2] }, [2, 6, 2], [2, 3, 1]],
    [{ reps: [2, 1, 2, 1] }, [2, 3, 4, 5], [1, 3, 2, 5]],
  ],
};

const answers = new WeakMap<GradFunc, boolean>();

/**
 * Returns whether a gradient function runs the same kernels on the same tensors and with the same attributes as that of
 * TensorFlow.js. This recognizes TensorFlow.js's function even if its source text differs, as in a minified bundle.
 * Nothing is computed, and no mode sees it.
 *
 * @internal
 */
export function actsAsTfjs(kernel: string, gradient: GradFunc): boolean {
  let answer = answers.get(gradient);
  if (answer === undefined) {
    answer = known[kernel]?.[0] === actsDigest(kernel, gradient);
    answers.set(gradient, answer);
  }
  return answer;
}

/**
 * Returns the digest of a gradient function's actions in the kernel's test cases. Undefined if one fails, for example
 * because it reads values. @internal
 */
function actsDigest(kernel: string, gradient: GradFunc): string | undefined {
  const [, ...trials] = known[kernel] ?? [];
  const acts: string[] = [];
  let tensors = 0;
  const makeTensor = (shape: readonly number[]) => new Tensor(shape as number[], "float32", {}, tensors++);
  const patches = new PatchSet();
  const engine = engineInternals();
  const act = (shape: readonly number[], ...told: unknown[]): Tensor => {
    acts.push(JSON.stringify(told, (_, value) => (value instanceof Tensor ? value.id : value)));
    return makeTensor(shape);
  };
  patches.patch(engine, "runKernel", () => (name, inputs, attributes) => {
    const { shape, size } = (attributes ?? {}) as { readonly shape?: number[]; readonly size?: number[] };
    const shapes = Object.values(inputs as Record<string, Tensor>).map((input) => input.shape);
    return act(shape ?? size ?? shapes.reduce((a, b) => (b.length > a.length ? b : a)), name, inputs, attributes);
  });
  patches.patch(
    engine,
    "makeTensor",
    (): EngineInternals["makeTensor"] => (values, shape, dtype) =>
      act(shape, [...(values as Iterable<number>)], shape, dtype),
  );
  try {
    for (const [attributes, dy, ...saved] of trials) {
      const gradients = gradient(makeTensor(dy), saved.map(makeTensor), attributes as never);
      for (const [name, of] of Object.entries(gradients)) acts.push(`${name} ${of().id}`);
    }
    return digestOf(acts.join());
  } catch {
    return undefined;
  } finally {
    patches.restore();
  }
}
