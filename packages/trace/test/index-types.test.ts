import { expect, expectTypeOf, test } from "vitest";
import {
  type CallIndex,
  type OpIndex,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
  transposeRows,
} from "../src/index.js";
import { newIndexColumn, opIndex, storageIndex } from "../src/index-types.js";

const readBy = (op: OpIndex, storage: StorageIndex): string => `${op} reads ${storage}`;

test("two indices that are swapped do not compile", () => {
  const op = opIndex(1);
  const storage = storageIndex(2);
  expect(readBy(op, storage)).toBe("1 reads 2");
  // @ts-expect-error: swapped
  readBy(storage, op);
});

test("an index is a number", () => {
  expectTypeOf<OpIndex>().toExtend<number>();
  expectTypeOf<OpIndex>().not.toExtend<StorageIndex>();
  expect(["a", "b"][opIndex(1)]).toBe("b");
  // A plain number is accepted as any index, so loops need no conversion.
  expect(readBy(1, 2)).toBe("1 reads 2");
});

test("a column takes and gives its own indices", () => {
  const readers = newIndexColumn<OpIndex>(2, -1);
  expect(readers).toEqual(new Int32Array([-1, -1]));
  readers[0] = opIndex(3);
  // @ts-expect-error: the index of a storage
  readers[1] = storageIndex(3);
  expectTypeOf(readers[0]).toEqualTypeOf<OpIndex>();
  expectTypeOf(readers.subarray(1)[0]).toEqualTypeOf<OpIndex>();
  for (const reader of readers) expectTypeOf(reader).toEqualTypeOf<OpIndex>();
});

test("values from a trace are typed", () => {
  expectTypeOf<Trace["opName"]>().parameters.toEqualTypeOf<[op: OpIndex]>();
  expectTypeOf<Trace["tensors"]["storage"][number]>().toEqualTypeOf<StorageIndex>();
  const indicesOf = (trace: Trace, op: OpIndex): void => {
    for (const tensor of trace.opInputs(op)) expectTypeOf(tensor).toEqualTypeOf<TensorIndex>();
    for (const call of trace.opCalls(op)) expectTypeOf(call).toEqualTypeOf<CallIndex>();
    for (const tensor of row(trace.ops.writes, op)) expectTypeOf(tensor).toEqualTypeOf<TensorIndex>();
    const readers = transposeRows<OpIndex>(trace.ops.inputs, trace.tensors.count);
    for (const reader of row(readers, 0)) expectTypeOf(reader).toEqualTypeOf<OpIndex>();
    // @ts-expect-error: the shape of an op
    trace.tensorShape(op);
  };
  expect(indicesOf).toBeTypeOf("function");
});
