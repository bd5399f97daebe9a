import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { findBackend } from "@remat/dispatch-hook/backends";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedBuffers } from "../src/backends/shared-buffers.js";
import { type OpDone, storagesOf, withDispatchMode } from "../src/index.js";
import { sharingCases } from "./sharing-cases.js";

type Info = { dataId: object };
interface Entry {
  values?: { buffer?: ArrayBuffer };
  memoryOffset?: number;
  complexTensorInfos?: { real: Info; imag: Info };
}
interface Backend {
  data: tf.DataStorage<Entry>;
  dataIdMap: tf.DataStorage<Entry>;
}

/** The actual location of a tensor's bytes: its `ArrayBuffer`s on cpu, its address in the heap on wasm. */
function places({ dataId }: Info): unknown[] {
  const backend = tf.backend() as unknown as Backend;
  const entry = (tf.getBackend() === "cpu" ? backend.data : backend.dataIdMap).get(dataId);
  if (entry.complexTensorInfos) return [entry.complexTensorInfos.real, entry.complexTensorInfos.imag].flatMap(places);
  // Text has no one place, but what is on one DataId is in one.
  return [entry.values?.buffer ?? entry.memoryOffset ?? dataId];
}

/** Pairs "output:input" that are in one place, in truth. */
const truth = (op: OpDone): string[] =>
  op.outputs.flatMap((output, i) =>
    op.inputTensors.flatMap((input, j) =>
      places(input).some((place) => places(output).includes(place)) ? [`${i}:${j}`] : [],
    ),
  );

const table = (op: OpDone): string[] =>
  sharedBuffers(findBackend(op.backend), op.kernel, op.inputs, op.attributes).map(
    ({ output, input }) => `${output}:${op.inputTensors.indexOf(input as tf.Tensor)}`,
  );

const tracked = (op: OpDone): string[] =>
  op.outputs.flatMap((output, i) =>
    op.inputTensors.flatMap((input, j) =>
      storagesOf(input).some((storage) => storagesOf(output).includes(storage)) ? [`${i}:${j}`] : [],
    ),
  );

describe.each(["cpu", "wasm"])("the table of kernels that share buffers on %s", (backend) => {
  const met = new Set<string>();
  beforeAll(async () => {
    await tf.setBackend(backend);
  });

  // wasm has neither Einsum nor complex numbers.
  const runs = (name: string) => backend === "cpu" || !/einsum|complex|real|imag/.test(name);
  test.each(Object.entries(sharingCases).filter(([name]) => runs(name)))("is the truth for: %s", (_, run) => {
    let ops = 0;
    const opDone = (op: OpDone) => {
      ops++;
      met.add(op.kernel);
      const where = `${op.kernel} ${JSON.stringify(op.inputTensors.map((t) => t.shape))}`;
      expect({ where, shares: [...new Set(table(op))] }).toEqual({ where, shares: truth(op) });
      expect({ where, shares: tracked(op) }).toEqual({ where, shares: truth(op) });
    };
    const missing = `not registered for backend '${backend}'`;
    try {
      withDispatchMode({ opDone }, () => tf.tidy(() => void run()));
    } catch (error) {
      if (backend === "cpu" || !String(error).includes(missing)) throw error;
    }
    expect(ops).toBeGreaterThan(0);
  });

  test("has a case for each of its kernels", () => {
    expect([...findBackend(backend).sharing.keys()].filter((kernel) => !met.has(kernel))).toEqual([]);
  });
});

test("a backend without a table is not known to share", () => {
  const x = { shape: [4], dtype: "float32" };
  expect(sharedBuffers("webgl", "Reshape", { x }, { shape: [2, 2] })).toEqual([]);
  expect(sharedBuffers("tensorflow", "Reshape", { x }, { shape: [2, 2] })).toEqual([{ output: 0, input: x }]);
});

test("on native a slice shares only on a boundary of 64 bytes", () => {
  const shares = (kernel: string, shape: number[], attributes: object) =>
    sharedBuffers("tensorflow", kernel, { x: { shape, dtype: "float32" } }, attributes as never).length > 0;
  expect(shares("Slice", [64], { begin: [16], size: [32] })).toBe(true);
  expect(shares("Slice", [64], { begin: [8], size: [32] })).toBe(false);
  expect(shares("Slice", [4, 16], { begin: [1, 0], size: [2, 16] })).toBe(true);
  expect(shares("Slice", [4, 24], { begin: [1, 0], size: [2, 24] })).toBe(false);
  expect(shares("SplitV", [4, 16], { axis: 0, numOrSizeSplits: [1, 3] })).toBe(true);
  expect(shares("SplitV", [4, 16], { axis: 1, numOrSizeSplits: 2 })).toBe(false);
  expect(shares("Transpose", [4, 1, 8], { perm: [1, 0, 2] })).toBe(true);
  expect(shares("Transpose", [4, 2, 8], { perm: [1, 0, 2] })).toBe(false);
  expect(shares("Sum", [4, 1], { axis: [1] })).toBe(true);
  expect(shares("Sum", [4, 2], { axis: [1] })).toBe(false);
});
