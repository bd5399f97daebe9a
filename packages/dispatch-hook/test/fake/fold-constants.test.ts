import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { DataDependentError, fakeMode } from "../../src/fake/index.js";

beforeAll(() => tf.setBackend("cpu"));

/** Shape arithmetic of graphs, from one vector of integers to another. */
const steps: Readonly<Record<string, (x: tf.Tensor1D) => tf.Tensor1D>> = {
  plus: (x) => x.add(tf.scalar(3, "int32")),
  times: (x) => x.mul(tf.scalar(2, "int32")),
  floorDiv: (x) => x.floorDiv(tf.scalar(2, "int32")),
  mod: (x) => x.mod(tf.scalar(5, "int32")),
  maximum: (x) => x.maximum(tf.scalar(4, "int32")),
  reversed: (x) => tf.reverse1d(x) as tf.Tensor1D,
  strided: (x) => tf.stridedSlice(x, [0], [Math.max(1, x.size)], [2]) as tf.Tensor1D,
  sliced: (x) => tf.slice1d(x, 0, Math.max(1, x.size - 1)),
  packed: (x) => tf.stack([x.sum(), x.prod(), x.max(), x.min()]) as tf.Tensor1D,
  unpacked: (x) => tf.stack(tf.unstack(x).reverse()) as tf.Tensor1D,
  joined: (x) => tf.concat1d([x, tf.tensor1d([7], "int32")]),
  split: (x) => tf.concat(tf.split(x, [1, x.size - 1]).reverse()) as tf.Tensor1D,
  gathered: (x) => tf.gather(x, tf.tensor1d([x.size - 1, 0], "int32")),
  ranged: (x) => tf.range(0, x.size, 1, "int32").add(x),
  filled: (x) => tf.fill([x.size], 9, "int32").sub(x),
  chosen: (x) => tf.where(x.greater(tf.scalar(3, "int32")), x, tf.zerosLike(x)),
  tiled: (x) => tf.tile(x, [2]),
  padded: (x) => tf.pad1d(x, [1, 1]),
  turned: (x) => x.reshape([1, x.size]).transpose().reshape([-1]) as tf.Tensor1D,
  "scaled by a float": (x) => x.toFloat().mul(1.5).floor().toInt() as tf.Tensor1D,
};

const chain = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 5 }),
  names: fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 5 }),
});

describe("values computed from known integers are known", () => {
  it.each(["cpu", "tensorflow"] as const)("as the real backend computes it, on fake %s", (backend) => {
    fc.assert(
      fc.property(chain, ({ sizes, names }) => {
        const run = (): number[] =>
          tf.tidy(() => {
            // As the op Shape of a graph gives it.
            let x = tf.tensor1d(tf.zeros(sizes).shape, "int32");
            for (const name of names) if (x.size > 1) x = steps[name](x);
            return [...x.dataSync()];
          });
        expect(fakeMode(run, { backend })).toEqual(run());
      }),
    );
  });

  it("and leaves nothing on the real one", () => {
    const count = (): unknown => [tf.memory().numTensors, tf.memory().numDataBuffers, tf.backend().numDataIds()];
    const before = count();
    fakeMode(() => Object.values(steps).map((step) => step(tf.tensor1d([3, 4, 5], "int32")).dataSync()));
    expect(count()).toEqual(before);
  });
});

describe("values computed from anything else are unknown", () => {
  it.each<[string, () => tf.Tensor]>([
    ["floats alone", () => tf.tensor1d([1, 2]).add(1)],
    ["whole numbers of floats", () => tf.tensor1d([1.5, 2]).toInt()],
    [
      "known and unknown",
      () =>
        tf
          .tensor1d([1, 2])
          .relu()
          .toInt()
          .add(tf.tensor1d([1, 2], "int32")),
    ],
    ["more than shapes have", () => tf.range(0, 2000, 1, "int32").add(tf.scalar(1, "int32"))],
    ["what is drawn", () => tf.multinomial(tf.tensor1d([0.5, 0.5]), 2)],
  ])("%s", (_, make) => {
    expect(() => fakeMode(() => make().dataSync())).toThrow(DataDependentError);
  });
});
