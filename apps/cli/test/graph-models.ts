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
  /** Functions called by its loops and conditionals. */
  readonly functions?: readonly object[];
}

const types = { float32: "DT_FLOAT", int32: "DT_INT32" } as const;
const text = (value: string): object => ({ s: Buffer.from(value).toString("base64") });
const ints = (...values: readonly number[]): object => ({ list: { i: values.map(String) } });
const shapeOf = (shape: readonly number[]): object => ({
  shape: { dim: shape.map((size) => ({ size: String(size) })) },
});
const float = { T: { type: "DT_FLOAT" } };

/** tensorflowjs's converter cuts weights into files of 4 MB: so are ours, at a size that none of a weight's is a multiple of. */
const shardBytes = 150;

/** Writes a graph as tensorflowjs's converter does; returns the path of its `model.json`. */
export function writeGraph(folder: string, { nodes, constants, outputs, functions = [] }: WrittenGraph): string {
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
  const bytes = Buffer.concat(
    Object.values(constants).map(({ dtype, values }) =>
      Buffer.from((dtype === "int32" ? Int32Array.from(values) : Float32Array.from(values)).buffer),
    ),
  );
  const shards = Math.ceil(bytes.length / shardBytes);
  const paths = Array.from({ length: shards }, (_, i) => `group1-shard${i + 1}of${shards}.bin`);
  const model = {
    format: "graph-model",
    generatedBy: "2.11.0",
    convertedBy: "TensorFlow.js Converter v4.22.0",
    signature: { outputs: Object.fromEntries(outputs.map((name) => [name, tensorInfo(`${name}:0`)])) },
    modelTopology: { node, library: { function: functions }, versions: { producer: 1286 } },
    weightsManifest: [{ paths, weights }],
  };
  writeFileSync(join(folder, "model.json"), JSON.stringify(model));
  for (const [i, path] of paths.entries())
    writeFileSync(join(folder, path), bytes.subarray(i * shardBytes, (i + 1) * shardBytes));
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

const whole0 = (value: number): Constant => ({ shape: [], dtype: "int32", values: [value] });
const whole = (...values: readonly number[]): Constant => ({ shape: [values.length], dtype: "int32", values });

const window = {
  ...float,
  padding: text("SAME"),
  data_format: text("NHWC"),
};

const int = { T: { type: "DT_INT32" } };
const shapeNode = (name: string, of: string): GraphNode => ({
  name,
  op: "Shape",
  input: [of],
  attr: { ...float, out_type: { type: "DT_INT32" } },
});
/** The sizes from `begin` to `end` of a shape, or one of them. */
const partOf = (name: string, shape: string, begin: string, end: string, isOne = true): GraphNode => ({
  name,
  op: "StridedSlice",
  input: [shape, begin, end, "one"],
  attr: { ...int, shrink_axis_mask: { i: isOne ? "1" : "0" } },
});
const pack = (name: string, ...input: readonly string[]): GraphNode => ({
  name,
  op: "Pack",
  input,
  attr: { ...int, N: { i: String(input.length) }, axis: { i: "0" } },
});
const reshape = (name: string, x: string, shape: string): GraphNode => ({
  name,
  op: "Reshape",
  input: [x, shape],
  attr: { ...float, Tshape: { type: "DT_INT32" } },
});
const matMul = (name: string, a: string, b: string): GraphNode => ({
  name,
  op: "MatMul",
  input: [a, b],
  attr: { ...float, transpose_a: { b: false }, transpose_b: { b: false } },
});

/** A function of a graph: arguments and results are float but for the first, which counts. */
const functionOf = (
  name: string,
  given: readonly string[],
  returned: Readonly<Record<string, string>>,
  nodeDef: readonly GraphNode[],
): object => ({
  signature: {
    name,
    inputArg: given.map((arg, i) => ({ name: arg, type: i === 0 ? "DT_INT32" : "DT_FLOAT" })),
    outputArg: Object.keys(returned).map((arg) => ({ name: arg, type: "DT_FLOAT" })),
  },
  nodeDef,
  ret: returned,
});

const loop = (name: string, ...input: readonly string[]): GraphNode => ({
  name,
  op: "StatelessWhile",
  input,
  attr: { cond: { func: { name: "cond" } }, body: { func: { name: "body" } } },
});

/** Counts to a bound that it is given, and multiplies what it carries. */
const loopFunctions = [
  functionOf("cond", ["i", "state", "w", "bound"], { less: "less:z:0" }, [
    { name: "less", op: "Less", input: ["i", "bound"], attr: int },
  ]),
  functionOf("body", ["i", "state", "w", "bound"], { next: "next:z:0", turned: "turned:y:0", w: "w", bound: "bound" }, [
    { name: "one", op: "OnesLike", input: ["i"], attr: int },
    { name: "next", op: "AddV2", input: ["i", "one:y:0"], attr: int },
    matMul("product", "state", "w"),
    { name: "turned", op: "Tanh", input: ["product:product:0"], attr: float },
  ]),
];

const choiceFunctions = [
  functionOf("many", ["batch", "x", "w"], { y: "product:product:0" }, [matMul("product", "x", "w")]),
  functionOf("few", ["batch", "x", "w"], { y: "turned:y:0" }, [
    { name: "turned", op: "Tanh", input: ["x"], attr: float },
  ]),
];

/** Graphs as converted models have them. */
export const graphs: Readonly<Record<string, WrittenGraph>> = {
  "a choice by the size of the batch": {
    nodes: [
      placeholder(-1, 6),
      shapeNode("shape", "x"),
      partOf("batch", "shape", "zero", "one"),
      { name: "isLarge", op: "Greater", input: ["batch", "three"], attr: int },
      {
        name: "y",
        op: "If",
        input: ["isLarge", "batch", "x", "w"],
        attr: { then_branch: { func: { name: "many" } }, else_branch: { func: { name: "few" } } },
      },
    ],
    constants: { zero: whole(0), one: whole(1), three: whole0(3), w: filled([6, 9]) },
    outputs: ["y"],
    functions: choiceFunctions,
  },
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
  "a shape that is turned": {
    nodes: [
      placeholder(-1, 2, 2),
      shapeNode("shape", "x"),
      { name: "turned", op: "ReverseV2", input: ["shape", "axis"], attr: int },
      reshape("y", "x", "turned"),
    ],
    constants: { axis: whole(0) },
    outputs: ["y"],
  },
  "shapes as Keras computes them, in scopes": {
    nodes: [
      placeholder(-1, 6, 4),
      shapeNode("Call/net/flat/Shape", "x"),
      partOf("Call/net/flat/batch", "Call/net/flat/Shape", "zero", "one"),
      pack("Call/net/flat/shape", "Call/net/flat/batch", "width"),
      reshape("Call/net/flat/Reshape", "x", "Call/net/flat/shape"),
      matMul("Call/net/dense/MatMul", "Call/net/flat/Reshape", "Call/net/dense/MatMul/ReadVariableOp"),
      { name: "Call/net/dense/Relu", op: "Relu", input: ["Call/net/dense/MatMul"], attr: float },
      { name: "Identity", op: "Identity", input: ["Call/net/dense/Relu"], attr: float },
    ],
    constants: {
      zero: whole(0),
      one: whole(1),
      width: whole0(24),
      "Call/net/dense/MatMul/ReadVariableOp": filled([24, 5]),
    },
    outputs: ["Identity"],
  },
  "images that grow by what their shape is": {
    nodes: [
      placeholder(-1, 4, 6, 3),
      shapeNode("shape", "x"),
      partOf("sizes", "shape", "one", "three", false),
      { name: "doubled", op: "Mul", input: ["sizes", "twice"], attr: int },
      {
        name: "resized",
        op: "ResizeNearestNeighbor",
        input: ["x", "doubled"],
        attr: { ...float, align_corners: { b: false }, half_pixel_centers: { b: true } },
      },
      { name: "y", op: "Sigmoid", input: ["resized"], attr: float },
    ],
    constants: { one: whole(1), three: whole(3), twice: whole(2) },
    outputs: ["y"],
  },
  "what is filled and counted by a shape": {
    nodes: [
      placeholder(-1, 7),
      shapeNode("shape", "x"),
      partOf("batch", "shape", "zero", "one"),
      partOf("width", "shape", "one", "two"),
      pack("state shape", "batch", "width"),
      {
        name: "state",
        op: "Fill",
        input: ["state shape", "half"],
        attr: { ...float, index_type: { type: "DT_INT32" } },
      },
      { name: "places", op: "Range", input: ["nothing", "width", "step"], attr: { Tidx: { type: "DT_INT32" } } },
      {
        name: "numbers",
        op: "Cast",
        input: ["places"],
        attr: { SrcT: { type: "DT_INT32" }, DstT: { type: "DT_FLOAT" } },
      },
      { name: "sum", op: "AddV2", input: ["x", "state"], attr: float },
      { name: "y", op: "Mul", input: ["sum", "numbers"], attr: float },
    ],
    constants: {
      zero: whole(0),
      one: whole(1),
      two: whole(2),
      nothing: whole0(0),
      step: whole0(1),
      half: { shape: [], dtype: "float32", values: [0.5] },
    },
    outputs: ["y"],
  },
  "a loop as often as a shape says": {
    nodes: [
      placeholder(-1, 4, 8),
      shapeNode("shape", "x"),
      partOf("times", "shape", "one", "two"),
      { name: "first", op: "Sum", input: ["x", "one"], attr: { ...float, Tidx: { type: "DT_INT32" } } },
      loop("steps", "start", "first", "w", "times"),
      { name: "y", op: "Relu", input: ["steps:1"], attr: float },
    ],
    constants: { one: whole(1), two: whole(2), start: whole0(0), w: filled([8, 8]) },
    functions: loopFunctions,
    outputs: ["y"],
  },
};

/** Graphs that cannot be traced without values, or at all. */
export const refusedGraphs: Readonly<Record<"where" | "loop" | "foreign", WrittenGraph>> = {
  where: {
    nodes: [placeholder(-1, 4), { name: "y", op: "Where", input: ["x"], attr: float }],
    constants: {},
    outputs: ["y"],
  },
  loop: {
    nodes: [
      placeholder(-1, 8),
      { name: "most", op: "Max", input: ["x", "axes"], attr: { ...float, Tidx: { type: "DT_INT32" } } },
      {
        name: "times",
        op: "Cast",
        input: ["most"],
        attr: { SrcT: { type: "DT_FLOAT" }, DstT: { type: "DT_INT32" } },
      },
      loop("steps", "start", "x", "w", "times"),
      { name: "y", op: "Relu", input: ["steps:1"], attr: float },
    ],
    constants: { axes: whole(0, 1), start: whole0(0), w: filled([8, 8]) },
    functions: loopFunctions,
    outputs: ["y"],
  },
  foreign: {
    nodes: [placeholder(-1, 4), { name: "y", op: "HouseOp", input: ["x"], attr: float }],
    constants: {},
    outputs: ["y"],
  },
};
