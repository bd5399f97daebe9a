import { type GradFunc, Tensor } from "@tensorflow/tfjs-core";
import { type EngineInternals, engineInternals } from "../engine-internals.js";
import { PatchSet } from "../patch-set.js";
import { digestOf } from "./text-digest.js";

/** What a gradient function is tried on: attributes, and the shapes of dy and of what is saved. */
type Trial = readonly [attributes: object, dy: readonly number[], ...saved: (readonly number[])[]];

const normalized = [[2, 3, 5, 7], [2, 3, 5, 7], [7], [7]] as const;
const reduced: readonly Trial[] = [
  [{ axis: [1], keepDims: false }, [2, 5], [2, 3, 5]],
  [{ axis: -1, keepDims: true }, [2, 1], [2, 3]],
];

/** By kernel, trials for each branch of tfjs's function that is replaced, and the digest of what it does in them: the same in each build of tfjs 4.17 to 4.22. */
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
 * Whether a gradient function runs the kernels of tfjs's own for the kernel, on the same tensors and with the same attributes. So it is known where its text is not, in a bundle whose names
 * are minified. Nothing is computed, and nobody sees it.
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

/** Returns the digest of what a gradient function does in the kernel's trials; undefined where one fails, as where it reads values. @internal */
export function actsDigest(kernel: string, gradient: GradFunc): string | undefined {
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
