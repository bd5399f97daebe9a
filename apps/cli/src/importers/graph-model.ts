import { basename, dirname } from "node:path";
import { elementsOf, RematError } from "@remat/trace";
import type { ModelContext, ModelFactory } from "@remat/tracer/step";
import type { io, NamedTensorMap, Tensor } from "@tensorflow/tfjs-core";
import { type GraphNode, GraphNodes, type LoadedGraph } from "./graph-nodes.js";
import type { ModelImporter } from "./importer.js";
import { parseJson } from "./parse-json.js";
import { WeightFiles } from "./weight-files.js";

/** The relevant parts of a TensorFlow graph as tensorflowjs's converter writes it. */
interface GraphModelJson extends Omit<io.ModelJSON, "weightsManifest"> {
  readonly modelTopology: object;
  /** Left out for a graph without constants. */
  readonly weightsManifest?: io.WeightsManifestConfig;
}

/** Name of the trace's module that contains everything the graph runs. */
const graphScope = "graph";

/** Height and width of images for a graph that accepts any size. */
const imageSize = 224;

/** A converted graph, for inference (`--predict`). */
export const graphModelImporter: ModelImporter = {
  name: "graph-model",
  gives: "model",
  isForPrediction: true,
  example: "model.json",
  what: 'a graph model ("format": "graph-model") from tensorflowjs_converter, with its weight files; for --predict',
  ending: /(\.model)?\.json$/,
  recognises: (path, { text }) =>
    path.endsWith(".json") &&
    (/"format"\s*:\s*"graph-model"/.test(text) || /"modelTopology"\s*:\s*\{\s*"node"\s*:/.test(text)),
  async load(path) {
    const { loadGraphModelSync } = await import("@tensorflow/tfjs-converter");
    // The graph's shape arithmetic, counters and conditions are computed with this backend's kernels.
    await import("@tensorflow/tfjs-backend-cpu");
    const json = parseJson(path) as GraphModelJson;
    const { weightSpecs, weightData } = readWeights(path, json);
    const factory: ModelFactory = (context) => {
      const { modelTopology, signature, format, generatedBy, convertedBy } = json;
      const artifacts = { modelTopology, signature, format, generatedBy, convertedBy, weightSpecs, weightData };
      return definitionOf(loadGraphModelSync(artifacts as io.ModelArtifacts), path, context);
    };
    return factory;
  },
};

function definitionOf(model: LoadedGraph, path: string, { tf, batch = 1, scope, moveTo }: ModelContext) {
  const notes = new Set<string>();
  const inputs = model.inputs.map(({ name, shape = [], dtype }) => {
    const sizes = shape.map((size, i) => {
      if (size >= 0) return size;
      if (i === 0) return batch;
      if (shape.length !== 4 || i === 3)
        throw new RematError(
          "MODEL_INPUT_SHAPE",
          `${path}: input ${name} has the shape [${shape.join(", ")}]: only the batch size may be unknown. Convert the model with a fixed shape.`,
        );
      notes.add(`input ${name} accepts images of any size: ${imageSize} x ${imageSize} was assumed`);
      return imageSize;
    });
    // The values of integers are unknown, so results computed from them count as data-dependent.
    const given = tf.randomUniform(sizes, 0, 2);
    return dtype === "float32" ? given : tf.tidy(() => tf.cast(given, dtype as "int32"));
  });
  const nodes = new GraphNodes(model);
  let running: GraphNode | undefined;
  nodes.watch(({ node, op, path: scopes }) => {
    running = node;
    moveTo?.(scopes, op);
  });
  const names = model.inputs.map(({ name }) => name);
  const byName = (given: Tensor | readonly Tensor[]): NamedTensorMap =>
    Object.fromEntries([given].flat().map((x, i) => [names[i], x]));
  const refuse = (cause: unknown): never => refuseNode(cause, running, path);
  const forward = (given: Tensor | readonly Tensor[]): Tensor | Tensor[] =>
    scope(graphScope, () => {
      try {
        return model.execute(byName(given), model.outputNodes);
      } catch (cause) {
        return refuse(cause);
      }
    });
  const forwardAsync = (given: Tensor | readonly Tensor[]): Promise<Tensor | Tensor[]> =>
    scope(graphScope, () => {
      const close = ignoreOthersThatNeedValues();
      return model.executeAsync(byName(given), model.outputNodes).catch(refuse).finally(close);
    });
  return {
    name: basename(dirname(path)),
    ...(nodes.needsAwait(byName(inputs)) ? { forwardAsync } : { forward: forward as never }),
    parameters: {},
    buffers: namedWeights(model, nodes),
    inputs,
    notes: [...notes],
  };
}

/**
 * If a node is rejected, tfjs-converter abandons other nodes that it has started. Their rejections would be unhandled.
 */
function ignoreOthersThatNeedValues(): () => void {
  const rejected = (cause: unknown): void => {
    if (!(cause instanceof RematError && cause.code === "DATA_DEPENDENT")) throw cause;
  };
  process.on("unhandledRejection", rejected);
  return () => void setImmediate(() => process.off("unhandledRejection", rejected));
}

/** Weights, by the scope of the node that uses them. */
function namedWeights({ weights }: LoadedGraph, nodes: GraphNodes): Record<string, Tensor> {
  const named: Record<string, Tensor> = {};
  for (const [name, tensors] of Object.entries(weights))
    tensors.forEach((tensor, i) => {
      const own = name.replaceAll(".", "_");
      named[[graphScope, ...nodes.pathOfWeight(name), i === 0 ? own : `${own}_${i}`].join(".")] = tensor;
    });
  return named;
}

/** Throws an error that names the unsupported node: it needs values, or tfjs-converter does not know its op. */
function refuseNode(cause: unknown, node: GraphNode | undefined, path: string): never {
  if (node === undefined) throw cause;
  const { message } = cause as Error;
  const named = `${path}: node ${node.name} is a ${node.op}`;
  if (cause instanceof RematError && cause.code === "DATA_DEPENDENT")
    throw new RematError(
      "GRAPH_MODEL_DYNAMIC",
      `${named}, whose output shape depends on values, so its memory cannot be predicted. Record a program that runs the graph: remat record -- node app.js.`,
      { cause },
    );
  if (/^(Custom op|Unknown op)/.test(message))
    throw new RematError(
      "GRAPH_MODEL_OP",
      `${named}, which tfjs-converter does not support. Convert the model without it, or record a program that registers it: remat record -- node app.js.`,
      { cause },
    );
  throw cause;
}

/** Reads the weights of a graph. They include constants (shapes, axes, paddings) that are needed to read the graph. */
function readWeights(path: string, { weightsManifest = [] }: GraphModelJson) {
  const refuse = (what: string) => new RematError("GRAPH_MODEL_WEIGHTS", `${path}: ${what}.`);
  const isGroup = (group: unknown): boolean =>
    typeof group === "object" &&
    group !== null &&
    Array.isArray((group as { readonly paths?: unknown; readonly weights?: unknown }).paths) &&
    Array.isArray((group as { readonly paths?: unknown; readonly weights?: unknown }).weights);
  if (!Array.isArray(weightsManifest) || !weightsManifest.every(isGroup))
    throw refuse("its weightsManifest is not a list of groups with `paths` and `weights`. Convert the model again");
  const groups = weightsManifest.map(({ paths, weights }) => ({ paths, bytes: bytesOf(weights, refuse) }));
  const files = new WeightFiles(path, groups, refuse);
  const { names, missing } = files;
  if (missing.length > 0)
    throw refuse(
      `${missing.length} of its ${names.length} weight files are not beside it: ` +
        `${missing.slice(0, 10).join(", ")}${missing.length > 10 ? ", …" : ""}. Copy them there: ` +
        "they contain the graph's shapes and axes",
    );
  files.checkSizes();
  const bytes = Buffer.concat(names.map((name) => files.read(name)));
  return {
    weightSpecs: weightsManifest.flatMap(({ weights }) => weights),
    weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  };
}

/** Bytes per element of each dtype that tfjs reads. Texts have variable length. */
const numberBytes: Readonly<Record<string, number>> = {
  float32: 4,
  int32: 4,
  bool: 1,
  complex64: 8,
  uint8: 1,
  uint16: 2,
  float16: 2,
};

/** Returns the size of weights in their files in bytes, or undefined if there are texts among them. */
function bytesOf(weights: readonly unknown[], refuse: (what: string) => RematError): number | undefined {
  let total: number | undefined = 0;
  for (const [i, weight] of weights.entries()) {
    const { shape, dtype, quantization } = (weight ?? {}) as Partial<io.WeightsManifestEntry>;
    const isSize = (size: unknown): boolean => Number.isSafeInteger(size) && (size as number) >= 0;
    const stored: unknown = quantization?.dtype ?? dtype;
    if (!Array.isArray(shape) || !shape.every(isSize) || !Number.isSafeInteger(8 * elementsOf(shape)))
      throw refuse(`weight ${i} of its manifest has no shape of sizes. Convert the model again`);
    if (stored === "string") total = undefined;
    else if (typeof stored !== "string" || !Object.hasOwn(numberBytes, stored))
      throw refuse(`weight ${i} of its manifest has an unknown dtype. Convert the model again`);
    else if (total !== undefined) total += elementsOf(shape) * numberBytes[stored]!;
  }
  return total;
}
