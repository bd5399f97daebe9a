import { elementsOf, type OpIndex, row, type Trace } from "@remat/trace";
import { matchModules, rootModule } from "./match-modules.js";
import { planError, type RematScope } from "./sharding-plan.js";

/** The modes of a scope, with the names of Keras. */
export const scopeModes: readonly RematScope["mode"][] = ["full", "activations", "larger_than", "list_of_layers"];
/** The default of Keras. */
const usualThreshold = 1024;
const names: readonly string[] = ["mode", "output_size_threshold", "layer_names"];
const expected = `RematScope(mode="full"), "activations", "larger_than" with output_size_threshold=1024, or "list_of_layers" with layer_names=["a", "b"]`;

/**
 * Returns the scope for a text in the syntax of Keras, such as
 * `RematScope(mode="larger_than", output_size_threshold=2048)`, or undefined for any other text.
 *
 * @throws RematError `SHARDING_PLAN` for arguments that Keras does not know
 */
export function parseRematScope(text: string): RematScope | undefined {
  const [, given] = /^(?:keras\.)?RematScope\s*\((.*)\)$/s.exec(text.trim()) ?? [];
  if (given === undefined) return undefined;
  const values = new Map<string, string>();
  let rest = given;
  for (let place = 0; rest.trim() !== ""; place++) {
    const [whole, name = names[place], value] =
      /^\s*(?:(\w+)\s*=\s*)?("[^"]*"|'[^']*'|\d+|\[[^\]]*\])\s*(?:,|$)/.exec(rest) ?? [];
    if (whole === undefined || name === undefined || values.has(name)) throw wrong(text);
    values.set(name, value);
    rest = rest.slice(whole.length);
  }
  const mode = scopeModes.find((each) => each === unquoted(values.get("mode") ?? "full"));
  const threshold = values.get("output_size_threshold") ?? String(usualThreshold);
  const layers = values.get("layer_names") ?? "[]";
  if (mode === undefined || [...values.keys()].some((name) => !names.includes(name))) throw wrong(text);
  if (!/^\d+$/.test(threshold) || !layers.startsWith("[")) throw wrong(text);
  const layerNames = (layers.match(/"[^"]*"|'[^']*'/g) ?? []).map(unquoted);
  if (mode === "list_of_layers" && layerNames.length === 0) throw wrong(text);
  return {
    mode,
    ...(mode === "larger_than" && { outputSizeThreshold: Number(threshold) }),
    ...(mode === "list_of_layers" && { layerNames }),
  };
}

const unquoted = (text: string): string => text.replace(/^["']|["']$/g, "");
const wrong = (text: string): Error => planError(`cannot read ${JSON.stringify(text)}. Expected ${expected}.`);

/**
 * Returns the modules that a scope around the whole model checkpoints, outermost first.
 *
 * `list_of_layers` takes the named layers. The other modes take all layers, that is, modules without modules inside.
 * `larger_than` takes only layers whose result has more elements than the threshold.
 *
 * @param opsOf the forward ops of a call of a module, undefined if it does not run
 * @throws RematError `SHARDING_PLAN` for a layer that does not exist, and if no layer is left
 */
export function modulesInScope(
  trace: Trace,
  scope: RematScope,
  opsOf: (fqn: string) => readonly number[] | undefined,
): readonly number[] {
  const { mode, outputSizeThreshold = usualThreshold, layerNames = [] } = scope;
  if (mode === "list_of_layers") return layerNames.flatMap((name) => matchLayer(trace, name));
  const layers = trace.modules.flatMap(({ fqn, leaf }, module) => {
    const ops = leaf ? (opsOf(fqn) ?? []) : [];
    return ops.length > 0 ? [{ module, elements: resultElements(trace, ops) }] : [];
  });
  const found = mode === "larger_than" ? layers.filter(({ elements }) => elements > outputSizeThreshold) : layers;
  if (found.length > 0) return found.map(({ module }) => module);
  const largest = layers.reduce((most, { elements }) => Math.max(most, elements), 0);
  throw planError(
    layers.length === 0
      ? "no layer runs in this trace. Record a model with layers."
      : `no layer's output has more than ${outputSizeThreshold} elements; the largest has ${largest}. Lower the threshold.`,
  );
}

/** Returns the modules whose name ends with a layer's name. */
function matchLayer(trace: Trace, name: string): readonly number[] {
  const found = trace.modules.flatMap(({ fqn }, module) => (fqn === name || fqn.endsWith(`.${name}`) ? [module] : []));
  return found.length > 0 ? found : matchModules(trace, rootModule(trace), [name]);
}

/**
 * Returns the number of elements in the result of a call's last op. Other outputs of that op (a mask, a mean) are for
 * the backward pass and do not count.
 */
function resultElements(trace: Trace, ops: readonly OpIndex[]): number {
  const [result] = trace.opOutputs(ops[ops.length - 1]);
  return result === undefined ? 0 : elementsOf(row(trace.tensors.shape, result));
}
