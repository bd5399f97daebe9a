import { describe, expect, test } from "vitest";
import {
  addsInPlace,
  addsTensors,
  attentionNames,
  cudaAttention,
  dotProducts,
  hasDtypeOfFirst,
  isCpuAttention,
  isSum,
  packetOf,
  takesOneDtype,
  unbatchedProducts,
} from "../../src/aten/index.js";

const onCpu = "_scaled_dot_product_flash_attention_for_cpu";

describe("names of ATen ops", () => {
  test("a packet has neither namespace nor overload", () => {
    expect(["aten.mm.default", "aten.add_.Tensor", "aten.relu", "Relu"].map(packetOf)).toEqual([
      "mm",
      "add_",
      "relu",
      "Relu",
    ]);
  });

  test("attention on a CPU is known by packet, by name and by name with overload", () => {
    expect([onCpu, `aten.${onCpu}`, `aten.${onCpu}.default`, `${onCpu}.default`].map(isCpuAttention)).toEqual(
      Array(4).fill(true),
    );
    expect(["mm", "aten.mm.default", `${onCpu}_backward`, cudaAttention[0]].map(isCpuAttention)).toEqual(
      Array(4).fill(false),
    );
  });

  test("attention has one name on each device, other ops one everywhere", () => {
    const onCuda = [
      "aten._scaled_dot_product_flash_attention.default",
      "aten._scaled_dot_product_efficient_attention.default",
      "aten._scaled_dot_product_cudnn_attention.default",
    ];
    expect(attentionNames(`aten.${onCpu}.default`)).toEqual([`aten.${onCpu}.default`, ...onCuda]);
    expect(attentionNames(onCuda[1])).toEqual([onCuda[1], ...onCuda]);
    for (const name of ["aten.mm.default", "aten._scaled_dot_product_flash_attention_backward.default", onCpu])
      expect(attentionNames(name)).toEqual([name]);
  });

  test("products without batch dimensions are products, and all of them take one dtype", () => {
    for (const packet of unbatchedProducts) {
      expect(dotProducts).toContain(packet);
      expect(takesOneDtype(packet)).toBe(true);
    }
    expect(takesOneDtype("mul")).toBe(false);
  });

  test("additions are told apart by whether they write into their input", () => {
    expect([addsTensors("aten.add.Tensor"), addsTensors("aten.add_.Tensor")]).toEqual([true, false]);
    expect([addsInPlace("aten.add.Tensor"), addsInPlace("aten.add_.Tensor")]).toEqual([false, true]);
    expect(["add", "add_", "addmm", "Add"].map(isSum)).toEqual([true, true, false, false]);
  });

  test("normalization and gradients have the dtype of their first input", () => {
    expect(["aten.native_layer_norm.default", "aten.threshold_backward.default"].map(hasDtypeOfFirst)).toEqual([
      true,
      true,
    ]);
    expect(hasDtypeOfFirst("aten.mul.Tensor")).toBe(false);
  });
});
