import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A tensor of a graph that is stored with it. */
interface Constant {
  readonly shape: readonly number[];
  readonly dtype: "float32" | "int32";
  readonly values: readonly number[];
}

/** A node as TensorFlow's GraphDef has it in JSON. */
interface GraphNode {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, unknown>>;
}

export interface WrittenGraph {
  readonly nodes: readonly GraphNode[];
  readonly constants: Readonly<Record<string, Constant>>;
  readonly outputs: readonly string[];
}

const types = { float32: "DT_FLOAT", int32: "DT_INT32" } as const;
const text = (value: string): object => ({ s: Buffer.from(value).toString("base64") });
const ints = (...values: readonly number[]): object => ({ list: { i: values.map(String) } });
const shapeOf = (shape: readonly number[]): object => ({
  shape: { dim: shape.map((size) => ({ size: String(size) })) },
});
const float = { T: { type: "DT_FLOAT" } };

/** Writes a graph as tensorflowjs's converter does; returns the path of its `model.json`. */
export function writeGraph(folder: string, { nodes, constants, outputs }: WrittenGraph): string {
  mkdirSync(folder, { recursive: true });
  const weights = Object.entries(constants).map(([name, { shape, dtype }]) => ({ name, shape, dtype }));
  const node = [
    ...weights.map(({ name, shape, dtype }) => ({
      name,
      op: "Const",
      attr: { dtype: { type: types[dtype] }, value: { tensor: { dtype: types[dtype], tensorShape: shapeOf(shape) } } },
    })),
    ...nodes,
  ];
  const tensorInfo = (name: string) => ({ name, dtype: "DT_FLOAT", tensorShape: { dim: [] } });
  const model = {
    format: "graph-model",
    generatedBy: "2.11.0",
    convertedBy: "TensorFlow.js Converter v4.22.0",
    signature: { outputs: Object.fromEntries(outputs.map((name) => [name, tensorInfo(`${name}:0`)])) },
    modelTopology: { node, library: {}, versions: { producer: 1286 } },
    weightsManifest: [{ paths: ["group1-shard1of1.bin"], weights }],
  };
  writeFileSync(join(folder, "model.json"), JSON.stringify(model));
  const bytes = Object.values(constants).map(({ dtype, values }) =>
    Buffer.from((dtype === "int32" ? Int32Array.from(values) : Float32Array.from(values)).buffer),
  );
  writeFileSync(join(folder, "group1-shard1of1.bin"), Buffer.concat(bytes));
  return join(folder, "model.json");
}

const placeholder = (...shape: readonly number[]): GraphNode => ({
  name: "x",
  op: "Placeholder",
  attr: { dtype: { type: "DT_FLOAT" }, shape: shapeOf(shape) },
});

const filled = (shape: readonly number[]): Constant => ({
  shape,
  dtype: "float32",
  values: Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => ((i * 7) % 11) / 11 - 0.5),
});

const whole = (...values: readonly number[]): Constant => ({ shape: [values.length], dtype: "int32", values });

const window = {
  ...float,
  padding: text("SAME"),
  data_format: text("NHWC"),
};

/** Graphs as converted models have them. */
export const graphs: Readonly<Record<string, WrittenGraph>> = {
  perceptron: {
    nodes: [
      placeholder(-1, 8),
      {
        name: "matmul",
        op: "MatMul",
        input: ["x", "w1"],
        attr: { ...float, transpose_a: { b: false }, transpose_b: { b: false } },
      },
      { name: "add", op: "BiasAdd", input: ["matmul", "b1"], attr: { ...float, data_format: text("NHWC") } },
      { name: "relu", op: "Relu", input: ["add"], attr: float },
      {
        name: "dense",
        op: "_FusedMatMul",
        input: ["relu", "w2", "b2"],
        attr: {
          ...float,
          fused_ops: { list: { s: [Buffer.from("BiasAdd").toString("base64")] } },
          num_args: { i: "1" },
          transpose_a: { b: false },
          transpose_b: { b: false },
          epsilon: { f: 0 },
        },
      },
      { name: "y", op: "Softmax", input: ["dense"], attr: float },
    ],
    constants: { w1: filled([8, 16]), b1: filled([16]), w2: filled([16, 4]), b2: filled([4]) },
    outputs: ["y"],
  },
  "convolutions, flattened": {
    nodes: [
      placeholder(-1, 12, 12, 3),
      {
        name: "conv",
        op: "Conv2D",
        input: ["x", "filter"],
        attr: { ...window, strides: ints(1, 2, 2, 1), dilations: ints(1, 1, 1, 1) },
      },
      {
        name: "norm",
        op: "FusedBatchNormV3",
        input: ["conv", "scale", "offset", "mean", "variance"],
        attr: { ...float, epsilon: { f: 0.001 }, data_format: text("NHWC"), is_training: { b: false } },
      },
      { name: "relu", op: "Relu6", input: ["norm"], attr: float },
      {
        name: "depthwise",
        op: "DepthwiseConv2dNative",
        input: ["relu", "deep"],
        attr: { ...window, strides: ints(1, 1, 1, 1), dilations: ints(1, 1, 1, 1) },
      },
      {
        name: "pool",
        op: "MaxPool",
        input: ["depthwise"],
        attr: { ...window, ksize: ints(1, 2, 2, 1), strides: ints(1, 2, 2, 1) },
      },
      { name: "reshape", op: "Reshape", input: ["pool", "flat"], attr: { ...float, Tshape: { type: "DT_INT32" } } },
      {
        name: "y",
        op: "MatMul",
        input: ["reshape", "w"],
        attr: { ...float, transpose_a: { b: false }, transpose_b: { b: false } },
      },
    ],
    constants: {
      filter: filled([3, 3, 3, 8]),
      scale: filled([8]),
      offset: filled([8]),
      mean: filled([8]),
      variance: { ...filled([8]), values: Array(8).fill(1) as number[] },
      deep: filled([3, 3, 8, 1]),
      flat: whole(-1, 72),
      w: filled([72, 5]),
    },
    outputs: ["y"],
  },
  "a residual that waits, and two outputs": {
    nodes: [
      placeholder(-1, 8, 8, 4),
      {
        name: "wide",
        op: "Conv2D",
        input: ["x", "filter"],
        attr: { ...window, strides: ints(1, 1, 1, 1), dilations: ints(1, 1, 1, 1) },
      },
      { name: "a", op: "Sigmoid", input: ["wide"], attr: float },
      { name: "b", op: "Mul", input: ["wide", "a"], attr: float },
      { name: "c", op: "Tanh", input: ["b"], attr: float },
      { name: "sum", op: "AddV2", input: ["c", "wide"], attr: float },
      {
        name: "mean",
        op: "Mean",
        input: ["sum", "axes"],
        attr: { ...float, Tidx: { type: "DT_INT32" }, keep_dims: { b: false } },
      },
      { name: "padded", op: "Pad", input: ["sum", "pads"], attr: { ...float, Tpaddings: { type: "DT_INT32" } } },
    ],
    constants: {
      filter: filled([1, 1, 4, 16]),
      axes: whole(1, 2),
      pads: { shape: [4, 2], dtype: "int32", values: [0, 0, 1, 1, 1, 1, 0, 0] },
    },
    outputs: ["mean", "padded"],
  },
};

/** One whose result's shape depends on values. */
export const dynamicGraph: WrittenGraph = {
  nodes: [placeholder(-1, 4), { name: "y", op: "Where", input: ["x"], attr: float }],
  constants: {},
  outputs: ["y"],
};

/** One that computes a shape out of another. */
export const reshapedGraph: WrittenGraph = {
  nodes: [
    placeholder(-1, 2, 2),
    { name: "shape", op: "Shape", input: ["x"], attr: { ...float, out_type: { type: "DT_INT32" } } },
    { name: "turned", op: "ReverseV2", input: ["shape", "axis"], attr: { T: { type: "DT_INT32" } } },
    { name: "y", op: "Reshape", input: ["x", "turned"], attr: { ...float, Tshape: { type: "DT_INT32" } } },
  ],
  constants: { axis: whole(0) },
  outputs: ["y"],
};
