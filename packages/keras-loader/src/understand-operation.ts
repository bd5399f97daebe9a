import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { isObject, type JsonObject, ownField, show } from "./json.js";
import { isReference, readKerasTensor } from "./keras-tensor.js";
import { type InboundNode, label, type TensorReference } from "./layer-note.js";
import type { InputReference } from "./layers/keras-operation.js";
import { kerasOperation, type NamedOperation, olderNames, tensorFlowOperation } from "./operations/keras-names.js";
import { operationNamed } from "./operations/operations.js";
import { corrupt } from "./read-topology.js";
import { indexOf, type NodeContext, toReference } from "./understand-nodes.js";

/** The call of a function, as arguments of its layer, and the origin of its inputs. */
export interface OperationCall {
  readonly operation: string;
  readonly arguments: JsonObject;
  /** For each call, the layers that its inputs come from. */
  readonly nodes: readonly InboundNode[];
}

/** Keras 2 writes this instead of a layer's name for a constant input. */
const constantValue = "_CONSTANT_VALUE";

const ofTensorFlow = new Set(["TFOpLambda", "SlicingOpLambda"]);

/**
 * Returns whether an entry of `layers` is a call of a function (`x + y`, `tf.concat`, `ops.relu(x)`) rather than a
 * layer.
 */
export function isOperation(entry: JsonObject): boolean {
  const { module, class_name: className } = entry;
  if (ofTensorFlow.has(className as string)) return true;
  return typeof module === "string" ? /^keras(\.src)?\.ops\b/.test(module) : isBareOperation(entry);
}

/**
 * HDF5 files of Keras 3 do not contain the module of a class: `Add` may be a layer, which has a configuration, or a
 * function.
 */
function isBareOperation({ class_name: className, config, inbound_nodes: nodes }: JsonObject): boolean {
  return (
    Array.isArray(nodes) &&
    nodes.some(isObject) &&
    isObject(config) &&
    !("trainable" in config) &&
    kerasOperation(className as string) !== undefined
  );
}

/** Returns the operation that an entry calls. Undefined if this package does not have it. */
export function namedOperation(entry: JsonObject): NamedOperation | undefined {
  const className = entry["class_name"] as string;
  if (!ofTensorFlow.has(className)) return kerasOperation(className);
  const config = isObject(entry["config"]) ? entry["config"] : {};
  return tensorFlowOperation(String(config["function"]));
}

/** Returns the function that an entry calls, as Keras writes its name. */
export function functionName(entry: JsonObject): string {
  const config = isObject(entry["config"]) ? entry["config"] : {};
  return typeof config["function"] === "string" ? `tf.${config["function"]}` : String(entry["class_name"]);
}

/**
 * Reads the call of a function. Keras 2 writes its first argument as the layer's input and the others by name. Keras 3
 * writes the arguments of the call in its node, and those of the constructor in the configuration.
 *
 * @throws RematError `KERAS_CALL_UNSUPPORTED` naming the argument that the operation does not support
 */
export function understandOperation(entry: JsonObject, named: NamedOperation, context: NodeContext): OperationCall {
  const nodes = entry["inbound_nodes"];
  if (!Array.isArray(nodes) || nodes.length === 0)
    throw corrupt(`${context.path}.inbound_nodes`, nodes, "a list of the function's calls");
  const calls = nodes.map((node, i) => readCall(node, entry, named, context, `${context.path}.inbound_nodes[${i}]`));
  const [first] = calls as [Call];
  const same = JSON.stringify(first.arguments);
  if (calls.some((call) => JSON.stringify(call.arguments) !== same))
    throw refused(context, "different arguments at each call");
  return { operation: named.operation, arguments: first.arguments, nodes: calls.map(({ node }) => node) };
}

interface Call {
  readonly arguments: JsonObject;
  readonly node: InboundNode;
}

function readCall(node: unknown, entry: JsonObject, named: NamedOperation, context: NodeContext, path: string): Call {
  const inputs: TensorReference[] = [];
  const given = isObject(node) && Array.isArray(node["args"]) ? ofKeras3(node, entry) : ofKeras2(node, named, path);
  const take = (value: unknown): unknown => {
    const reference = referenceOf(value, context);
    if (reference !== undefined) {
      const known = indexOf(inputs, reference);
      return { input: known < 0 ? inputs.push(reference) - 1 : known } satisfies InputReference;
    }
    if (isObject(value) && isConstant(value)) return (value["config"] as JsonObject)["value"];
    if (isObject(value) && value["class_name"] === "__tuple__") return take(value["items"]);
    if (Array.isArray(value)) return value.map(take);
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, take(item)])) : value;
  };
  const taken: JsonObject = {};
  const ours = operationNamed(named.operation).parameters;
  const positional = named.isVariadic ? [given.positional] : given.positional;
  if (positional.length > ours.length) throw refused(context, `${positional.length} positional arguments`);
  positional.forEach((value, i) => {
    taken[ours[i] as string] = take(value);
  });
  for (const [keyword, value] of Object.entries(given.named)) {
    const parameter = ours[named.parameters.indexOf(ownField(olderNames, keyword) ?? keyword)];
    if (parameter !== undefined) {
      if (value !== null) taken[parameter] = take(value);
    } else if (!saysNothing(keyword, value)) throw refused(context, `the argument ${keyword}: ${show(value)}`);
  }
  if (inputs.length === 0) throw refused(context, "no tensor of the file");
  return { arguments: taken, node: inputs };
}

/** Keras 3 writes a tensor or an array that existed before the model as its values. */
const isConstant = ({ class_name: className, config }: JsonObject): boolean =>
  (className === "__tensor__" || className === "__numpy__") && isObject(config) && "value" in config;

interface Given {
  readonly positional: readonly unknown[];
  readonly named: JsonObject;
}

function ofKeras3(node: JsonObject, entry: JsonObject): Given {
  const { name: _name, dtype, ...config } = isObject(entry["config"]) ? entry["config"] : {};
  // A dtype that is a policy is the operation's own. A dtype that is a string is the target of a cast.
  const own = typeof dtype === "string" ? { ...config, dtype } : config;
  return {
    positional: node["args"] as unknown[],
    named: { ...own, ...(isObject(node["kwargs"]) ? node["kwargs"] : {}) },
  };
}

/** `[from, call, output, {…}]` or, for a function of a list of tensors, a list of these with the same arguments. */
function ofKeras2(node: unknown, { operation }: NamedOperation, path: string): Given {
  const expected = "[layer, call, output, {…}] or a list of these";
  if (!Array.isArray(node) || node.length === 0) throw corrupt(path, node, expected);
  const isOne = typeof node[0] === "string";
  const inputs: readonly unknown[] = isOne ? [node] : node;
  if (!inputs.every((input): input is readonly unknown[] => Array.isArray(input))) throw corrupt(path, node, expected);
  const values = inputs.map((input) => (input[0] === constantValue ? input[2] : input.slice(0, 3)));
  const keywords = inputs.map((input) => input[3]).find(isObject) ?? {};
  const takesList = operation === "concatenate" || operation === "stack";
  return { positional: [isOne && !takesList ? values[0] : values], named: keywords };
}

function referenceOf(value: unknown, context: NodeContext): TensorReference | undefined {
  const tensor = readKerasTensor(value);
  if (tensor !== undefined) return toReference(tensor, context);
  if (!isReference(value) || value.length !== 3 || !context.classes.has(value[0])) return undefined;
  const [from, call, output] = value;
  return [from, call, output, {}];
}

/** Arguments that operations here do not support, with the only accepted value: the default. */
const byDefault: Readonly<Record<string, unknown>> = {
  alpha: 1,
  batch_dims: 0,
  data_format: "channels_last",
  decimals: 0,
  fill_mode: "constant",
  fill_value: 0,
};

/** Returns whether an argument can be ignored, because it is a default or not an argument of the function. */
function saysNothing(keyword: string, value: unknown): boolean {
  if (value === null || value === false || keyword === "name" || keyword === "trainable") return true;
  if (Object.hasOwn(byDefault, keyword)) return byDefault[keyword] === value;
  if (keyword === "dtype" || keyword === "output_type" || keyword === "out_type") return typeof value === "string";
  return false;
}

function refused(context: NodeContext, argument: string): RematError {
  return new RematError(
    "KERAS_CALL_UNSUPPORTED",
    `${sentenceStart(label(context))} is called with ${argument}, which is not supported. ` +
      "Rebuild that step in Keras with the function's default arguments, or with a layer.",
  );
}
