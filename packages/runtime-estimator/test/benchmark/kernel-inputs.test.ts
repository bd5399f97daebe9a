import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { inputValues } from "../../src/benchmark/input-values.js";
import { inputNamesOf } from "../../src/benchmark/kernel-inputs.js";
import { type RecordedCall, recordKernels, useCpu } from "../record-kernels.js";
import { kernelExamples } from "./kernel-examples.js";

let calls: RecordedCall[] = [];
beforeAll(async () => {
  await useCpu();
  calls = kernelExamples.flatMap((run) => recordKernels(run));
});

/** Kernels whose inputs cannot be made up, or that no op of tfjs runs. */
const without = new Set([
  ..."Draw FromPixels RaggedGather RaggedRange RaggedTensorToTensor SparseFillEmptyRows SparseReshape".split(" "),
  ..."StaticRegexReplace StringNGrams StringSplit StringToHashBucketFast".split(" "),
  // Their boxes decide how many are left.
  ..."NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5".split(" "),
]);

test("the examples reach every kernel that cpu has", () => {
  const reached = new Set(calls.map(({ name }) => name));
  const kernels = tf.getKernelsForBackend("cpu").map(({ kernelName }) => kernelName);
  expect(kernels.filter((kernel) => !reached.has(kernel) && !without.has(kernel))).toEqual([]);
});

test("inputs are named as tfjs names them", () => {
  const named = ({ inputNames }: RecordedCall) => (inputNames[0] === "0" ? "list" : inputNames);
  const ours = (call: RecordedCall) => inputNamesOf(call.name, call.inputs.length, call.attributes?.["activation"]);
  // A batch norm without a scale has as many inputs as one without an offset.
  const known = calls.filter(({ name, inputs }) => !(name === "FusedBatchNorm" && inputs.length === 4));
  expect(known.map((call) => [call.name, ours(call)])).toEqual(known.map((call) => [call.name, named(call)]));
});

describe("made-up values", () => {
  const madeUp = (call: RecordedCall) =>
    call.inputs.map((type, i) =>
      inputValues(call, call.inputNames[i], type.dtype === "complex64" ? { ...type, dtype: "float32" } : type),
    );

  test("fill every input", () => {
    for (const call of calls)
      expect(
        madeUp(call).map((values) => values?.length),
        call.name,
      ).toEqual(call.inputs.map(({ shape }) => shape.reduce((a, b) => a * b, 1)));
  });

  test("give every kernel finite results", () => {
    for (const call of calls) {
      const outputs = tf.tidy(() => {
        const tensors = call.inputs.map((type, i) => {
          const values = madeUp(call)[i] as Float32Array;
          const shape = [...type.shape];
          if (type.dtype === "complex64") return tf.complex(tf.tensor(values, shape), tf.tensor(values, shape));
          return tf.tensor(values, shape, type.dtype as tf.DataType);
        });
        const inputs = Object.fromEntries(tensors.map((tensor, i) => [call.inputNames[i], tensor]));
        const run = tf.getKernel(call.name, "cpu").kernelFunc;
        const named = call.inputNames[0] === "0" ? tensors : inputs;
        const made = run({
          inputs: named as tf.NamedTensorInfoMap,
          attrs: call.attributes as tf.NamedAttrMap,
          backend: tf.backend(),
        });
        return (Array.isArray(made) ? made : [made])
          .filter(({ dtype }) => dtype !== "complex64")
          .map(({ dataId }) => Array.from(tf.backend().readSync(dataId) as Float32Array));
      }) as unknown as number[][];
      expect(
        outputs.flat().filter((value) => !Number.isFinite(value)),
        `${call.name} ${JSON.stringify(call.inputs)}`,
      ).toEqual([]);
    }
  });

  const indexed = (name: string, attributes: Record<string, unknown>, ...shapes: number[][]) => ({
    name,
    inputs: shapes.map((shape, i) => ({ dtype: i === 1 || shapes.length === 1 ? "int32" : "float32", shape })),
    outputs: [],
    attributes,
  });
  test("spread indices over the whole range and stay within it", () => {
    const call = indexed("GatherV2", { axis: -1 }, [3, 50], [2000]);
    const values = inputValues(call, "indices", call.inputs[1]) as Int32Array;
    expect(new Set(values)).toEqual(new Set(Array.from({ length: 50 }, (_, i) => i)));
    const nd = indexed("GatherNd", {}, [3, 50], [500, 2]);
    const coordinates = inputValues(nd, "indices", nd.inputs[1]) as Int32Array;
    expect(Math.max(...coordinates.filter((_, i) => i % 2 === 0))).toBe(2);
    expect(Math.max(...coordinates.filter((_, i) => i % 2 === 1))).toBe(49);
    expect(Math.min(...coordinates)).toBe(0);
  });

  test("sort what must be sorted", () => {
    const call = indexed("SearchSorted", {}, [2, 100], [2, 3]);
    const values = inputValues(call, "sortedSequence", call.inputs[0]) as Float32Array;
    for (const row of [values.slice(0, 100), values.slice(100)]) expect(row).toEqual(row.slice().sort());
  });

  test("are not made up for other dtypes", () => {
    const call = indexed("Add", {}, [2], [2]);
    expect(inputValues(call, "a", { dtype: "string", shape: [2] })).toBeUndefined();
  });
});
