import { expect, it } from "vitest";
import { type CompiledNode, fusedKernels } from "../../src/executors/torch-compile/fused-kernels.js";

const storages = Array.from({ length: 8 }, (_, s) => ({ bytes: 2 ** s, device: "cuda:0" }));
const given = (name: string, storage: number): CompiledNode => ({ name, kind: "placeholder", outputs: [storage] });
const fused = (name: string, inputs: string[], storage: number): CompiledNode => ({
  ...{ name, kind: "compute", inputs },
  outputs: [storage],
  isFusible: true,
});
const product = (name: string, inputs: string[], storage: number): CompiledNode => ({
  ...{ name, kind: "compute", inputs, outputs: [storage] },
  flops: 1000,
  dtype: "bfloat16",
});
const output = (inputs: string[]): CompiledNode => ({ name: "output", kind: "output", inputs, outputs: [] });

it("reads what a chain of fusible nodes is given, and writes what is read of it", () => {
  const nodes = [given("x", 0), fused("a", ["x"], 1), fused("b", ["a"], 2), fused("c", ["b", "x"], 3), output(["c"])];
  expect(fusedKernels(nodes, storages)).toEqual([{ flops: 0, bytesRead: 1, bytesWritten: 8, dtype: "float32" }]);
});

it("has a node that is not fusible be a kernel, which parts those before it from those after it", () => {
  const nodes = [
    ...[given("x", 0), fused("a", ["x"], 1), product("p", ["a", "x"], 2), fused("b", ["p"], 3)],
    ...[fused("c", ["b", "a"], 4), output(["c", "b"])],
  ];
  expect(fusedKernels(nodes, storages)).toEqual([
    { flops: 0, bytesRead: 1, bytesWritten: 2, dtype: "float32" },
    { flops: 1000, bytesRead: 1 + 2, bytesWritten: 4, dtype: "bfloat16" },
    { flops: 0, bytesRead: 2 + 4, bytesWritten: 8 + 16, dtype: "float32" },
  ]);
});

it("fuses what is recomputed with what reads it, however early it could run", () => {
  const nodes = [
    ...[given("saved", 0), given("gradient", 1), fused("again", ["saved"], 2), product("p", ["gradient"], 3)],
    ...[fused("sum", ["p", "again"], 4), output(["sum"])],
  ];
  expect(fusedKernels(nodes, storages)).toEqual([
    { flops: 0, bytesRead: 1 + 8, bytesWritten: 16, dtype: "float32" },
    { flops: 1000, bytesRead: 2, bytesWritten: 8, dtype: "bfloat16" },
  ]);
});

it("takes views for none, and reads of them what they span, of a storage no more than it has", () => {
  const view = (name: string, bytes: number): CompiledNode => ({ ...fused(name, ["x"], 4), bytes });
  const nodes = [
    ...[given("x", 4), view("first", 6), view("second", 5), view("most", 14)],
    ...[product("p", ["first", "second"], 0), product("q", ["first", "most"], 1), output(["p", "q"])],
  ];
  expect(fusedKernels(nodes, storages).map(({ bytesRead }) => bytesRead)).toEqual([11, 16]);
});
