import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bytesOf, flopsOf, opCost } from "../../src/index.js";

interface Case {
  readonly packet: string;
  readonly args: readonly unknown[];
  readonly inputs: readonly (readonly number[])[];
  readonly outputs: readonly (readonly number[])[];
  readonly flops: number;
}

/** Answers of PyTorch's FLOP registry, written by `torch-flops.py` in this folder. */
const torch = JSON.parse(readFileSync(new URL("torch-flops.json", import.meta.url), "utf8")) as {
  readonly packets: readonly string[];
  readonly cases: readonly Case[];
};
const float = (shape: readonly number[]) => ({ dtype: "float32", shape });
const callOf = ({ packet, args, inputs, outputs }: Case) => ({
  name: `aten.${packet}.default`,
  inputs: inputs.map(float),
  outputs: outputs.map(float),
  attributes: { args },
});

test("every packet of PyTorch's registry has cases, but for the one whose formula raises", () => {
  const covered = new Set(torch.cases.map(({ packet }) => packet));
  expect(torch.packets.filter((packet) => !covered.has(packet))).toEqual(["_slow_conv2d_forward"]);
});

test.each([...new Set(torch.cases.map(({ packet }) => packet))])("%s counts what PyTorch counts", (packet) => {
  const cases = torch.cases.filter((found) => found.packet === packet);
  expect(cases.map((found) => flopsOf(callOf(found), "pytorch"))).toEqual(cases.map(({ flops }) => flops));
});

describe("arguments", () => {
  const [x, w, y] = [float([2, 3, 8, 8]), float([4, 3, 3, 3]), float([2, 4, 6, 6])];
  const rest = [[1, 1], [0, 0], [1, 1], false, [0, 0], 1];
  const positional = {
    name: "aten.convolution.default",
    inputs: [x, w],
    outputs: [y],
    attributes: { args: ["%0", "%1", null, ...rest] },
  };

  test("are found by keyword as well", () => {
    const call = { ...positional, attributes: { args: ["%0"], kwargs: { weight: "%1", transposed: false } } };
    expect(flopsOf(call, "pytorch")).toBe(flopsOf(positional, "pytorch"));
  });
  test("are taken in order where none are recorded", () => {
    expect(flopsOf({ ...positional, attributes: undefined }, "pytorch")).toBe(flopsOf(positional, "pytorch"));
  });
  test("that are missing count as nothing", () => {
    expect(flopsOf({ ...positional, inputs: [], attributes: {} }, "pytorch")).toBe(0);
  });
});

test("the slow CPU convolution, whose formula upstream raises on, counts as a convolution", () => {
  const call = {
    name: "aten._slow_conv2d_forward.default",
    inputs: [float([2, 3, 8, 8]), float([4, 3, 3, 3])],
    outputs: [float([2, 4, 6, 6])],
    attributes: { args: ["%0", "%1", [3, 3], null, [1, 1], [0, 0]] },
  };
  expect(flopsOf(call, "pytorch")).toBe(2 * 2 * 4 * 6 * 6 * 3 * 3 * 3);
});

test("views and creation are free by packet, whatever the overload", () => {
  for (const name of [
    "aten.view.default",
    "aten.t.default",
    "aten.select.int",
    "aten.zeros_like.default",
    "aten.split.Tensor",
  ])
    expect(bytesOf({ name, inputs: [float([4])], outputs: [float([4])] }, "pytorch"), name).toEqual({
      bytesRead: 0,
      bytesWritten: 0,
    });
  expect(bytesOf({ name: "prim.device.default", inputs: [float([4])], outputs: [] }, "pytorch").bytesRead).toBe(16);
});

test("with outputs of several dtypes the first floating one decides", () => {
  const dtypes = (...names: string[]) => names.map((dtype) => ({ dtype, shape: [2] }));
  const dtype = (inputs: string[], outputs: string[]) =>
    opCost({ name: "aten.mm.default", inputs: dtypes(...inputs), outputs: dtypes(...outputs) }, "pytorch").dtype;
  expect(dtype(["float32"], ["int64", "bfloat16", "float32"])).toBe("bfloat16");
  expect(dtype(["int64", "float16"], ["int64"])).toBe("float16");
  expect(dtype(["int64"], ["int64"])).toBe("float32");
});
