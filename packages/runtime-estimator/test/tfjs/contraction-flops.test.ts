import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { flopsOf } from "../../src/index.js";
import { type RecordedCall, recordKernels, useCpu } from "../record-kernels.js";
import { flat, indices, size } from "./naive-convolution.js";

beforeAll(useCpu);

const numbered = (shape: readonly number[]) =>
  tf.tensor(
    Float32Array.from({ length: size(shape) }, (_, i) => ((i * 5) % 7) - 3),
    [...shape],
  );
const record = (name: string, body: () => void) =>
  recordKernels(body).find((call) => call.name === name) as RecordedCall;
const small = fc.integer({ min: 1, max: 4 });

/** The product as loops, counting; batches of 1 are broadcast. */
function naiveMatMul(call: RecordedCall): { flops: number; values: number[] } {
  const { transposeA, transposeB } = call.attributes as { transposeA: boolean; transposeB: boolean };
  const [a, b] = call.inputs.map(({ shape }) => shape);
  const [as, bs] = call.values.inputs;
  const inner = a[transposeA ? 1 : 2];
  let flops = 0;
  const values: number[] = [];
  for (const [batch, row, column] of indices(call.outputs[0].shape)) {
    let sum = 0;
    for (let k = 0; k < inner; k++) {
      const left = flat(a, [batch % a[0], ...(transposeA ? [k, row] : [row, k])]);
      const right = flat(b, [batch % b[0], ...(transposeB ? [column, k] : [k, column])]);
      sum += as[left] * bs[right];
      flops += 2;
    }
    values.push(sum);
  }
  return { flops, values };
}

test("BatchMatMul: transposed sides, batches, broadcast batches", () => {
  const sizes = fc.record({ m: small, k: small, n: small, batchA: small, batchB: small });
  fc.assert(
    fc.property(sizes, fc.boolean(), fc.boolean(), fc.boolean(), ({ m, k, n, batchA, batchB }, tA, tB, broadcast) => {
      const call = record("BatchMatMul", () => {
        const a = numbered([broadcast ? 1 : batchA, ...(tA ? [k, m] : [m, k])]);
        const b = numbered([broadcast ? batchB : batchA, ...(tB ? [n, k] : [k, n])]);
        tf.matMul(a, b, tA, tB);
      });
      const naive = naiveMatMul(call);
      expect(Array.from(call.values.outputs[0], (v) => v + 0)).toEqual(naive.values.map((v) => v + 0));
      expect(flopsOf(call, "tfjs")).toBe(naive.flops);
    }),
  );
});

/** Every product and every sum of an einsum, over all combinations of index values. */
function naiveEinsum(call: RecordedCall): { flops: number; values: number[] } {
  const [terms, result] = String(call.attributes?.["equation"]).split("->");
  const sizes: Record<string, number> = {};
  const operands = terms.split(",");
  for (const [i, term] of operands.entries())
    for (const [axis, letter] of [...term].entries()) sizes[letter] = call.inputs[i].shape[axis];
  const letters = Object.keys(sizes);
  const summed = letters.some((letter) => !result.includes(letter));
  const outShape = [...result].map((letter) => sizes[letter]);
  const values = Array.from({ length: size(outShape) }, () => 0);
  let flops = 0;
  for (const at of indices(letters.map((letter) => sizes[letter]))) {
    const of = (term: string) => [...term].map((letter) => at[letters.indexOf(letter)]);
    let product = 1;
    for (const [i, term] of operands.entries()) {
      product *= call.values.inputs[i][flat(call.inputs[i].shape, of(term))];
      if (i > 0) flops++;
    }
    values[flat(outShape, of(result))] += product;
    if (summed) flops++;
  }
  return { flops, values };
}

describe("Einsum counts products and sums", () => {
  const equations = [
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij->ji",
    "ij->i",
    "i,j->ij",
    "bhqd,bhkd->bhqk",
    "ij,ij->",
    "abc,cd->abd",
  ];
  test.each(equations)("%s", (equation) => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 6, maxLength: 6 }), (lengths) => {
        const letters = [...new Set(equation.replace(/\W/g, ""))];
        const operands = equation.split("->")[0].split(",");
        const call = record("Einsum", () => {
          tf.einsum(equation, ...operands.map((term) => numbered([...term].map((l) => lengths[letters.indexOf(l)]))));
        });
        const naive = naiveEinsum(call);
        expect(Array.from(call.values.outputs[0], (v) => v + 0)).toEqual(naive.values.map((v) => v + 0));
        expect(flopsOf(call, "tfjs")).toBe(naive.flops);
      }),
      { numRuns: 20 },
    );
  });
});

describe("a fused kernel costs what its parts cost", () => {
  const activations = ["linear", "relu", "relu6", "elu", "sigmoid", "leakyrelu", "prelu"] as const;
  const kernels = {
    linear: undefined,
    relu: "Relu",
    relu6: "Relu6",
    elu: "Elu",
    sigmoid: "Sigmoid",
    leakyrelu: "LeakyRelu",
    prelu: "Prelu",
  };

  test.each(activations)("%s", (activation) => {
    fc.assert(
      fc.property(fc.boolean(), (biased) => {
        const weights = activation === "prelu" ? { preluActivationWeights: numbered([2]) } : {};
        const options = { activation, ...(biased ? { bias: numbered([2]) } : {}), ...weights };
        const cases: [string, string, () => void][] = [
          [
            "_FusedMatMul",
            "BatchMatMul",
            () => void tf.fused.matMul({ a: numbered([3, 4]), b: numbered([4, 2]), ...options }),
          ],
          [
            "FusedConv2D",
            "Conv2D",
            () =>
              void tf.fused.conv2d({
                x: numbered([1, 4, 4, 3]) as tf.Tensor4D,
                filter: numbered([2, 2, 3, 2]) as tf.Tensor4D,
                strides: 1,
                pad: "same",
                ...options,
              }),
          ],
          [
            "FusedDepthwiseConv2D",
            "DepthwiseConv2dNative",
            () =>
              void tf.fused.depthwiseConv2d({
                x: numbered([1, 4, 4, 1]) as tf.Tensor4D,
                filter: numbered([2, 2, 1, 2]) as tf.Tensor4D,
                strides: 1,
                pad: "same",
                ...options,
              }),
          ],
        ];
        for (const [fused, plain, run] of cases) {
          const call = record(fused, run);
          const activationKernel = kernels[activation];
          const { outputs } = call;
          const parts = [
            { ...call, name: plain },
            ...(biased ? [{ name: "Add", inputs: outputs, outputs }] : []),
            ...(activationKernel === undefined ? [] : [{ name: activationKernel, inputs: outputs, outputs }]),
          ];
          expect(flopsOf(call, "tfjs")).toBe(parts.reduce((sum, part) => sum + flopsOf(part, "tfjs"), 0));
        }
      }),
    );
  });
});
