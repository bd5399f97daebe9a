import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { isObject, type JsonObject, ownField, show } from "./json.js";
import { isReference, type KerasTensor, readKerasTensors } from "./keras-tensor.js";
import { type InboundNode, isModelClass, label, type TensorReference } from "./layer-note.js";
import { corrupt } from "./read-topology.js";

/** Context for reading the nodes of a layer: its identity, its path, and the class of every layer in its model. */
export interface NodeContext {
  readonly name: string;
  readonly className: string;
  readonly path: string;
  readonly classes: ReadonlyMap<string, string>;
}

/** The calls of a layer, and their arguments other than tensors, which become part of its configuration. */
export interface Calls {
  readonly nodes: readonly InboundNode[];
  readonly options: JsonObject;
}

interface Call {
  readonly node: InboundNode;
  readonly options: JsonObject;
}

/**
 * Reads the calls of a layer. Keras 2 writes `[[[layer, call, output, {}], …]]`, and Keras 3 the arguments as they were
 * passed. Both become the form of Keras 2, which tfjs-layers uses.
 */
export function understandNodes(nodes: unknown, context: NodeContext): Calls {
  if (!Array.isArray(nodes)) throw corrupt(`${context.path}.inbound_nodes`, nodes, "a list of the layer's calls");
  const calls = nodes.map((node, i): Call => {
    const path = `${context.path}.inbound_nodes[${i}]`;
    if (isObject(node) && Array.isArray(node["args"])) return readCall(node["args"], node["kwargs"], context, path);
    if (!Array.isArray(node) || node.length === 0 || !node.every(isReference)) {
      throw corrupt(path, node, "[[layer, call, output, {…}], …] (Keras 2) or {args, kwargs} (Keras 3)");
    }
    const inputs = node.map(([from, call, output]): TensorReference => [from, call, output, {}]);
    const keywords = (node as unknown as readonly (readonly unknown[])[]).map((input) => input[3]).filter(isObject);
    return withKeywords(inputs, Object.assign({}, ...keywords) as JsonObject, context);
  });
  const options = calls[0]?.options ?? {};
  if (calls.some((call) => JSON.stringify(call.options) !== JSON.stringify(options)))
    refuseArgument(context, "different arguments at each call");
  return { nodes: calls.map(({ node }) => node), options };
}

function readCall(args: readonly unknown[], keywords: unknown, context: NodeContext, path: string): Call {
  const names = namedInputs(context.className);
  const isSpread = names.length > 0 && args.length <= names.length;
  const tensors = args.length === 1 ? readKerasTensors(args[0]) : readKerasTensors(args);
  if (tensors === undefined) throw corrupt(`${path}.args`, args, "one tensor or a list of tensors");
  if (args.length > 1 && !isSpread) refuseArgument(context, `${args.length} positional arguments`);
  const inputs = tensors.map((tensor) => toReference(tensor, context));
  return withKeywords(inputs, isObject(keywords) ? keywords : {}, context);
}

/** Returns the origin of a Keras 3 tensor, with calls counted as in tfjs-layers. */
export function toReference({ history: [from, call, output] }: KerasTensor, context: NodeContext): TensorReference {
  // tfjs-layers counts a model's own construction as its call 0. The arguments of Keras 3 do not.
  return [from, isModelClass(context.classes.get(from) ?? "") ? call + 1 : call, output, {}];
}

/** Call arguments that change a layer's computation, with their names in its configuration here. */
const callOptions: Readonly<Record<string, string>> = {
  use_causal_mask: "useCausalMask",
  return_attention_scores: "returnAttentionScores",
};

/**
 * Reads the keyword arguments of a call. Default values are dropped, and `training` is left to the caller. Tensors
 * become additional inputs: the initial state of a recurrent layer, and named arguments of attention, in the order of
 * `inputRoles`.
 */
function withKeywords(inputs: readonly TensorReference[], keywords: JsonObject, context: NodeContext): Call {
  const node = [...inputs];
  const names = namedInputs(context.className);
  const roles = names.slice(0, names.length > 0 ? inputs.length : 0);
  const options: JsonObject = {};
  const masks: TensorReference[] = [];
  for (const [keyword, value] of Object.entries(keywords)) {
    if (value === null || keyword === "training") continue;
    const option = ownField(callOptions, keyword);
    if (option !== undefined && (value === false || (value === true && isAttention(context.className)))) {
      if (value) options[option] = true;
      continue;
    }
    const mask = keyword === "mask" && takesMask.test(context.className) ? readState(value, context) : undefined;
    if (mask?.length === 1) {
      masks.push(...mask);
      continue;
    }
    const isInput = keyword === "initial_state" || names.includes(keyword);
    const references = isInput ? readState(value, context) : undefined;
    if (references === undefined) refuseArgument(context, `the argument ${keyword}: ${show(value)}`);
    node.push(...references);
    if (names.includes(keyword)) roles.push(keyword);
  }
  if (roles.length > 0) options["inputRoles"] = roles;
  // Layers that only pass a mask on get it from the layer that made it.
  if (masks.length > 0 && !handsMaskOn.test(context.className)) {
    node.push(...masks);
    options["hasMaskInput"] = true;
  }
  if (!isAttention(context.className)) return { node, options };
  // See `spreadInputs`.
  const once = onceEach(node);
  if (once.length < node.length) options["inputIndices"] = node.map((input) => indexOf(once, input));
  return { node: once, options };
}

/** Returns references without duplicates. */
function onceEach(references: readonly TensorReference[]): readonly TensorReference[] {
  return references.filter((reference, i) => indexOf(references, reference) === i);
}

/** Returns the first index of a tensor in a list, or -1. */
export function indexOf(references: readonly TensorReference[], [from, call, output]: TensorReference): number {
  return references.findIndex((other) => other[0] === from && other[1] === call && other[2] === output);
}

/** Layers that Keras 3 calls with a mask argument. */
const takesMask =
  /^(RNN|SimpleRNN|LSTM|GRU|Bidirectional|ConvLSTM[123]D|GlobalAveragePooling1D|TimeDistributed|BatchNormalization)$/;
const handsMaskOn = /^(TimeDistributed|BatchNormalization)$/;

const isAttention = (className: string): boolean => /^(|Additive|MultiHead|GroupQuery)Attention$/.test(className);

/** Returns the arguments of a class that take tensors, in order. */
function namedInputs(className: string): readonly string[] {
  return /^(MultiHead|GroupQuery)Attention$/.test(className) ? ["query", "value", "key", "attention_mask"] : [];
}

function readState(value: unknown, context: NodeContext): TensorReference[] | undefined {
  const tensors = readKerasTensors(value);
  if (tensors !== undefined) return tensors.map((tensor) => toReference(tensor, context));
  const references = isReference(value) ? [value] : value;
  if (!Array.isArray(references) || !references.every(isReference)) return undefined;
  return references.map(([from, call, output]) => [from, call, output, {}]);
}

function refuseArgument(context: NodeContext, argument: string): never {
  throw new RematError(
    "KERAS_CALL_UNSUPPORTED",
    `${sentenceStart(label(context))} is called with ${argument}, which tfjs-layers does not support. ` +
      "Rebuild that step in Keras with a layer that takes only inputs.",
  );
}
