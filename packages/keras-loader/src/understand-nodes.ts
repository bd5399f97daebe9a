import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { isObject, type JsonObject, show } from "./json.js";
import { isReference, type KerasTensor, readKerasTensors } from "./keras-tensor.js";
import { type InboundNode, isModelClass, label, type TensorReference } from "./layer-note.js";
import { corrupt } from "./read-topology.js";

/** What the nodes of a layer are read with: who it is, where it stands, and the class of every layer of its model. */
export interface NodeContext {
  readonly name: string;
  readonly className: string;
  readonly path: string;
  readonly classes: ReadonlyMap<string, string>;
}

/**
 * Reads the calls of a layer. Keras 2 writes `[[[layer, call, output, {}], …]]`, Keras 3 the arguments as they were passed. Both become
 * Keras 2's form, which is tfjs-layers'.
 */
export function understandNodes(nodes: unknown, context: NodeContext): InboundNode[] {
  if (!Array.isArray(nodes)) throw corrupt(`${context.path}.inbound_nodes`, nodes, "a list of the layer's calls");
  return nodes.map((node, i) => {
    const path = `${context.path}.inbound_nodes[${i}]`;
    if (isObject(node) && Array.isArray(node["args"])) return readCall(node["args"], node["kwargs"], context, path);
    if (!Array.isArray(node) || node.length === 0 || !node.every(isReference)) {
      throw corrupt(path, node, "[[layer, call, output, {…}], …] (Keras 2) or {args, kwargs} (Keras 3)");
    }
    const states = (node as unknown as readonly (readonly unknown[])[]).flatMap((input) =>
      readKeywords(input[3], context),
    );
    return [...node.map(([from, call, output]): TensorReference => [from, call, output, {}]), ...states];
  });
}

function readCall(args: readonly unknown[], keywords: unknown, context: NodeContext, path: string): InboundNode {
  const names = namedInputs(context.className);
  const isSpread = names.length > 0 && args.length <= names.length;
  const tensors = args.length === 1 ? readKerasTensors(args[0]) : readKerasTensors(args);
  if (tensors === undefined) throw corrupt(`${path}.args`, args, "one tensor or a list of tensors");
  if (args.length > 1 && !isSpread) refuseArgument(context, `${args.length} positional arguments`);
  return [...tensors.map((tensor) => toReference(tensor, context)), ...readKeywords(keywords, context)];
}

/** Returns where a tensor of Keras 3 comes from, in tfjs-layers' count of calls. */
export function toReference({ history: [from, call, output] }: KerasTensor, context: NodeContext): TensorReference {
  // tfjs-layers counts a model's own construction as its call 0; the arguments of Keras 3 do not.
  return [from, isModelClass(context.classes.get(from) ?? "") ? call + 1 : call, output, {}];
}

/**
 * Keyword arguments of a call. Those that say nothing are dropped, `training` is the caller's to give in tfjs-layers, and the initial state
 * of a recurrent layer is what tfjs-layers takes as further inputs.
 */
function readKeywords(keywords: unknown, context: NodeContext): TensorReference[] {
  const states: TensorReference[] = [];
  for (const [keyword, value] of Object.entries(isObject(keywords) ? (keywords as JsonObject) : {})) {
    if (value === null || keyword === "training" || (keyword === "return_attention_scores" && value === false))
      continue;
    const isInput = keyword === "initial_state" || namedInputs(context.className).includes(keyword);
    if (keyword === "use_causal_mask" && value === false) continue;
    const references = isInput ? readState(value, context) : undefined;
    if (references === undefined) refuseArgument(context, `the argument ${keyword}: ${show(value)}`);
    else states.push(...references);
  }
  return states;
}

/** Inputs that a class takes as arguments of their own, in order. */
function namedInputs(className: string): readonly string[] {
  return className === "MultiHeadAttention" ? ["query", "value", "key"] : [];
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
    `${sentenceStart(label(context))} is called with ${argument}, which tfjs-layers cannot pass. ` +
      "Rebuild that step in Keras with a layer that takes only its inputs.",
  );
}
