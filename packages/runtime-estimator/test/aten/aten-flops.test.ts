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
  for (const asPytorch of [false, true])
    expect(cases.map((found) => flopsOf(callOf(found), "pytorch", { asPytorch }))).toEqual(
      cases.map(({ flops }) => flops),
    );
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

describe("products that PyTorch's registry does not count", () => {
  const flops = (
    packet: string,
    inputs: readonly (readonly number[])[],
    options?: { args?: unknown[]; out?: number[] },
  ) => {
    const call = {
      name: `aten.${packet}.default`,
      inputs: inputs.map(float),
      outputs: options?.out === undefined ? [] : [float(options.out)],
      attributes: { args: options?.args ?? inputs.map((_, i) => `%${i}`) },
    };
    expect(flopsOf(call, "pytorch", { asPytorch: true }), `${packet} as PyTorch`).toBe(0);
    return flopsOf(call, "pytorch");
  };

  test("attention on a CPU counts as on a GPU, forward and backward", () => {
    const [query, key, value] = [
      [2, 4, 5, 16],
      [2, 2, 7, 16],
      [2, 2, 7, 8],
    ];
    const cpu = "_scaled_dot_product_flash_attention_for_cpu";
    const product = (width: number) => 2 * (2 * 4) * 5 * 7 * width;
    expect(flops(cpu, [query, key, value])).toBe(product(16) + product(8));
    const out = [2, 4, 5, 8];
    expect(flops(`${cpu}_backward`, [out, query, key, value])).toBe(3 * product(16) + 2 * product(8));
    for (const [ours, registered, inputs] of [
      [cpu, "_scaled_dot_product_flash_attention", [query, key, value]],
      [`${cpu}_backward`, "_scaled_dot_product_flash_attention_backward", [out, query, key, value]],
    ] as const) {
      const gpu = { name: `aten.${registered}.default`, inputs: inputs.map(float), outputs: [] };
      expect(flops(ours, inputs)).toBe(flopsOf(gpu, "pytorch"));
    }
  });

  test.each([
    ["mv", [[3, 4], [4]], 2 * 3 * 4],
    ["addmv", [[3], [3, 4], [4]], 2 * 3 * 4],
    ["dot", [[5], [5]], 2 * 5],
    ["vdot", [[5], [5]], 2 * 5],
    [
      "addbmm",
      [
        [3, 5],
        [2, 3, 4],
        [2, 4, 5],
      ],
      2 * 2 * 3 * 4 * 5,
    ],
    ["linear", [[2, 3, 4], [5, 4], [5]], 2 * 2 * 3 * 4 * 5],
    ["linear", [[2, 3, 4], [4]], 2 * 2 * 3 * 4],
    [
      "_int_mm",
      [
        [32, 16],
        [16, 8],
      ],
      2 * 32 * 16 * 8,
    ],
    ["_addmm_activation", [[5], [3, 4], [4, 5]], 2 * 3 * 4 * 5],
    // Rows in groups, columns in groups, inner positions in groups, and one matrix of each side for each group.
    [
      "_grouped_mm",
      [
        [16, 32],
        [2, 32, 8],
      ],
      2 * 16 * 32 * 8,
    ],
    [
      "_grouped_mm",
      [
        [2, 16, 32],
        [32, 8],
      ],
      2 * 16 * 32 * 8,
    ],
    [
      "_grouped_mm",
      [
        [16, 32],
        [32, 8],
      ],
      2 * 16 * 32 * 8,
    ],
    [
      "_grouped_mm",
      [
        [2, 16, 32],
        [2, 32, 8],
      ],
      2 * 2 * 16 * 32 * 8,
    ],
    [
      "_scaled_grouped_mm",
      [
        [16, 32],
        [2, 32, 8],
      ],
      2 * 16 * 32 * 8,
    ],
  ] as const)("%s of %j", (packet, inputs, expected) => expect(flops(packet, inputs)).toBe(expected));

  test("matmul broadcasts batches", () => {
    expect(
      flops(
        "matmul",
        [
          [7, 1, 3, 4],
          [2, 4, 5],
        ],
        { out: [7, 2, 3, 5] },
      ),
    ).toBe(2 * 7 * 2 * 3 * 5 * 4);
    expect(flops("matmul", [[], []])).toBe(0);
  });

  test("recurrent layers multiply each position by all weights, and twice as much backward", () => {
    const [steps, batch, width, hidden] = [5, 2, 8, 16];
    const weights = [[4 * hidden, width], [4 * hidden, hidden], [4 * hidden], [4 * hidden]];
    const forward = 2 * steps * batch * 4 * hidden * (width + hidden);
    expect(flops("mkldnn_rnn_layer", [[steps, batch, width], ...weights])).toBe(forward);
    expect(flops("mkldnn_rnn_layer_backward", [[steps, batch, width], ...weights])).toBe(2 * forward);
    const args = ["%0", ["%1", "%2", "%3", "%4"], 4];
    const inputs = [[steps, batch, width], ...weights];
    for (const [packet, mask] of [
      ["_cudnn_rnn", 21],
      ["miopen_rnn", 20],
    ] as const) {
      expect(flops(packet, inputs, { args })).toBe(forward);
      const rest = Array.from({ length: mask - args.length }, () => null);
      const backward = (...wanted: boolean[]) =>
        flops(`${packet}_backward`, inputs, { args: [...args, ...rest, wanted] });
      expect(backward(true, true, true, true)).toBe(2 * forward);
      expect(backward(true, true, true, false)).toBe(forward);
    }
  });
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
