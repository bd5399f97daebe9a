import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";

/** The next statement of a program. Tensors are given by number, counted from the last one. */
type Step =
  | { readonly kind: "op"; readonly op: string; readonly a: number; readonly b: number; readonly tidied: boolean }
  | { readonly kind: "grads"; readonly of: number; readonly by: readonly number[] }
  | { readonly kind: "inside"; readonly by: readonly number[]; readonly steps: readonly Step[] }
  | { readonly kind: "variables"; readonly steps: readonly Step[] }
  | { readonly kind: "assign"; readonly from: number }
  | { readonly kind: "dispose"; readonly a: number };

type Binary = (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;

const cube = tf.customGrad((x, save) => {
  (save as (tensors: tf.Tensor[]) => void)([x as tf.Tensor]);
  return {
    value: tf.mul(tf.square(x as tf.Tensor), x as tf.Tensor),
    gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => tf.mul(dy, tf.mul(tf.square(saved[0]), 3)),
  };
});

const row = (x: tf.Tensor): tf.Tensor2D => tf.reshape(x, [1, 3]);

const ops: Readonly<Record<string, Binary>> = {
  add: tf.add,
  sub: tf.sub,
  mul: tf.mul,
  div: (a, b) => tf.div(a, tf.add(1, tf.square(b))),
  sin: (a) => tf.sin(a),
  tanh: (a) => tf.tanh(a),
  square: (a) => tf.square(a),
  cube: (a) => cube(a),
  scale: (a) => tf.mul(a, 0.7),
  residual: (a, b) => tf.add(a, tf.mul(tf.tanh(tf.mul(a, b)), b)),
  sigmoid: (a) => tf.sigmoid(a),
  matMul: (a, b) => tf.reshape(tf.matMul(row(a), tf.matMul(row(b), row(a), true)), [3]),
  concat: (a, b) => tf.slice(tf.concat([a, b]), [1], [3]),
  centre: (a) => tf.sub(a, tf.mean(a)),
  spread: (a, b) => tf.mul(tf.sum(tf.mul(a, b)), b),
};

const place = fc.nat(9);
const op = fc.record({
  kind: fc.constant("op" as const),
  op: fc.constantFrom(...Object.keys(ops)),
  a: place,
  b: place,
  tidied: fc.boolean(),
});
const places = fc.array(place, { minLength: 1, maxLength: 3 });

/** Programs that take gradients in gradients, of what was computed before or is computed inside. */
export const nestedPrograms: fc.Arbitrary<readonly Step[]> = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie("step"), { minLength: 1, maxLength: 7, depthIdentifier: "nesting" }),
  step: fc.oneof(
    { depthIdentifier: "nesting", maxDepth: 3 },
    { arbitrary: op as fc.Arbitrary<Step>, weight: 8 },
    { arbitrary: fc.record({ kind: fc.constant("grads" as const), of: place, by: places }), weight: 3 },
    { arbitrary: fc.record({ kind: fc.constant("assign" as const), from: place }), weight: 1 },
    { arbitrary: fc.record({ kind: fc.constant("dispose" as const), a: place }), weight: 1 },
    { arbitrary: fc.record({ kind: fc.constant("inside" as const), by: places, steps: tie("steps") }), weight: 2 },
    { arbitrary: fc.record({ kind: fc.constant("variables" as const), steps: tie("steps") }), weight: 1 },
  ),
})).steps;

const bitsOf = (tensor: tf.Tensor): number[] => [...new Int32Array(Float32Array.from(tensor.dataSync()).buffer)];

/**
 * Runs a program under a gradient by the first of two tensors and a variable, and returns the bits of all that it computes; the error's message in
 * its place, where it throws.
 */
export function runNested(steps: readonly Step[]): unknown {
  const engine = tf.engine();
  const { numTensors } = tf.memory();
  const seen: number[][] = [];
  const variable = tf.variable(tf.tensor1d([0.3, -0.4, 0.9]));
  const given = [tf.tensor1d([0.5, -1.5, 0.25]), tf.tensor1d([2, 0.75, -1])];
  try {
    const { value, grads } = tf.tidy(() =>
      engine.gradients(
        () => perform(steps, [variable, ...given], variable, seen),
        [given[0], variable],
        undefined,
        true,
      ),
    );
    const result = [value, ...grads].map((tensor) => tensor && bitsOf(tensor));
    tf.dispose([value, ...grads]);
    return { result, seen };
  } catch (error) {
    return { error: (error as Error).message, seen };
  } finally {
    tf.dispose([...given, variable]);
    if (tf.memory().numTensors > numTensors) seen.push([tf.memory().numTensors - numTensors]);
  }
}

function perform(
  steps: readonly Step[],
  around: readonly tf.Tensor[],
  variable: tf.Variable,
  seen: number[][],
): tf.Tensor {
  const engine = tf.engine();
  let have = [...around];
  const at = (place: number): tf.Tensor => have[have.length - 1 - (place % have.length)];
  for (const step of steps) {
    switch (step.kind) {
      case "op": {
        const compute = () => ops[step.op](at(step.a), at(step.b));
        have.push(step.tidied ? tf.tidy(() => tf.mul(tf.sin(tf.add(compute(), 0.1)), at(step.b))) : compute());
        break;
      }
      case "grads": {
        const y = at(step.of);
        const { grads } = engine.gradients(() => y, step.by.map(at), undefined, true);
        have.push(...grads.filter((grad) => grad !== undefined));
        break;
      }
      case "inside": {
        const inner = () => perform(step.steps, have, variable, seen);
        const { value, grads } = engine.gradients(inner, step.by.map(at), undefined, true);
        have.push(value, ...grads.filter((grad) => grad !== undefined));
        break;
      }
      case "variables": {
        const { value, grads } = tf.variableGrads(
          () => tf.sum(tf.mul(perform(step.steps, have, variable, seen), variable)) as tf.Scalar,
          [variable],
        );
        have.push(tf.mul(value, at(0)), ...Object.values(grads));
        break;
      }
      case "assign":
        variable.assign(tf.tidy(() => tf.tanh(at(step.from))) as never);
        break;
      default: {
        const going = at(step.a);
        if (around.includes(going) || going instanceof tf.Variable) break;
        going.dispose();
        have = have.filter((tensor) => !tensor.isDisposed);
      }
    }
    seen.push(bitsOf(at(0)));
  }
  return tf.mul(at(0), at(1));
}
