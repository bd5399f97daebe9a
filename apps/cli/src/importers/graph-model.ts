import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { RematError } from "@remat/trace";
import type { ModelContext, ModelFactory } from "@remat/tracer/step";
import type { GraphModel } from "@tensorflow/tfjs-converter";
import type { io, Tensor } from "@tensorflow/tfjs-core";
import type { ModelImporter } from "./importer.js";
import { parseJson } from "./parse-json.js";

/** What tensorflowjs's converter writes of a TensorFlow graph: as much of it as is read. */
interface GraphModelJson extends Omit<io.ModelJSON, "weightsManifest"> {
  readonly modelTopology: object;
  /** Left out of a graph without constants. */
  readonly weightsManifest?: io.WeightsManifestConfig;
}

/** As much of a loaded one as is used. */
type LoadedGraph = Pick<GraphModel, "inputs" | "weights" | "outputNodes" | "execute">;

/** As a module of the trace: all that the graph runs. */
const graphScope = "graph";

/** The height and width of images where a graph takes any. */
const imageSize = 224;

/** A converted graph, which is used as it is: by `--predict`. */
export const graphModelImporter: ModelImporter = {
  name: "graph-model",
  gives: "model",
  example: "model.json",
  what: 'a graph model ("format": "graph-model") as tensorflowjs_converter writes it, with its weight files beside it; for --predict',
  ending: /(\.model)?\.json$/,
  recognises: (path, { text }) =>
    path.endsWith(".json") &&
    (/"format"\s*:\s*"graph-model"/.test(text) || /"modelTopology"\s*:\s*\{\s*"node"\s*:/.test(text)),
  async load(path) {
    const { loadGraphModelSync } = await import("@tensorflow/tfjs-converter");
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

function definitionOf(model: LoadedGraph, path: string, { tf, batch = 1, scope }: ModelContext) {
  const notes = new Set<string>();
  const inputs = model.inputs.map(({ name, shape = [], dtype }) => {
    const sizes = shape.map((size, i) => {
      if (size >= 0) return size;
      if (i === 0) return batch;
      if (shape.length !== 4 || i === 3)
        throw new RematError(
          "MODEL_INPUT_SHAPE",
          `${path}: input ${name} has the shape [${shape.join(", ")}]: expected all sizes but the batch to be known. Convert it with a fixed shape.`,
        );
      notes.add(`input ${name} takes images of any size: ${imageSize} x ${imageSize} were assumed`);
      return imageSize;
    });
    return dtype === "float32" ? tf.randomNormal(sizes) : tf.zeros(sizes, dtype as "int32");
  });
  const named = model.inputs.map(({ name }) => name);
  const buffers = Object.entries(model.weights).flatMap(([name, tensors]) =>
    tensors.map(
      (tensor, i) => [`${graphScope}.${name.replaceAll(".", "_")}${i === 0 ? "" : `_${i}`}`, tensor] as const,
    ),
  );
  const forward = (given: Tensor | readonly Tensor[]): Tensor | Tensor[] =>
    scope(graphScope, () => execute(model, path, Object.fromEntries([given].flat().map((x, i) => [named[i], x]))));
  return {
    name: basename(dirname(path)),
    forward: forward as never,
    parameters: {},
    buffers: Object.fromEntries(buffers),
    inputs,
    notes: [...notes],
  };
}

/** As `model.predict` does. */
function execute(model: LoadedGraph, path: string, inputs: Record<string, Tensor>): Tensor | Tensor[] {
  try {
    return model.execute(inputs, model.outputNodes);
  } catch (cause) {
    const [, node, op] =
      /contains the node '(.*?)', which has the dynamic op '(.*?)'/.exec((cause as Error).message) ?? [];
    if (op === undefined) throw cause;
    throw new RematError(
      "GRAPH_MODEL_DYNAMIC",
      `${path}: node ${node} is a ${op}, whose result depends on values: what it holds cannot be told without them. Name a graph without ${op}.`,
      { cause },
    );
  }
}

/** Constants of a graph (shapes, axes, paddings) are weights of it, too, so that it cannot be read without. */
function readWeights(path: string, { weightsManifest = [] }: GraphModelJson) {
  const names = weightsManifest.flatMap(({ paths }) => paths);
  const missing = names.filter((name) => !existsSync(join(dirname(path), name)));
  if (missing.length > 0)
    throw new RematError(
      "GRAPH_MODEL_WEIGHTS",
      `${path}: of its ${names.length} weight files ${missing.length} are not beside it: ${missing.join(", ")}. Copy them there: a graph's shapes and axes are among them.`,
    );
  const bytes = Buffer.concat(names.map((name) => readFileSync(join(dirname(path), name))));
  return {
    weightSpecs: weightsManifest.flatMap(({ weights }) => weights),
    weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  };
}
