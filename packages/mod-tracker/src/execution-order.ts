import { type Container, type GraphTensor, isContainer, isInputLayer, type Layer } from "./layer-internals.js";

/** One call of a layer in a container's graph. */
export interface GraphCall {
  readonly layer: Layer;
  /** The tensor it computes. TensorFlow.js calls a layer with several outputs once for each output in use. */
  readonly output: GraphTensor;
}

/**
 * Returns the calls of a container in the order of tfjs-layers (`getTopologicalSortAndRecipientCounts` of its
 * executor): dependencies before their users, the last input first. A part in `inlined` counts as one call, whatever
 * its graph is.
 */
export function executionOrder(container: Container, inlined: InlinedParts = new Map()): GraphCall[] {
  const calls: GraphCall[] = [];
  const visited = new Set<string>(container.inputs.map(({ name }) => name));
  for (const output of container.outputs) {
    const stack: { readonly tensor: GraphTensor; readonly left: GraphTensor[] }[] = [];
    const visit = (tensor: GraphTensor) => {
      if (visited.has(tensor.name)) return;
      visited.add(tensor.name);
      stack.push({ tensor, left: inlined.has(tensor) ? [] : [...tensor.inputs] });
    };
    visit(output);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const input = top.left.pop();
      if (input !== undefined) {
        visit(input);
        continue;
      }
      stack.pop();
      const layer = inlined.get(top.tensor) ?? top.tensor.sourceLayer;
      if (!isInputLayer(layer)) calls.push({ layer, output: top.tensor });
    }
  }
  return calls;
}

/** Models whose layers a container runs itself without calling the model, by the tensor they compute. */
export type InlinedParts = ReadonlyMap<GraphTensor, Container>;

/**
 * Returns the parts of a container whose graph is part of its own. A Sequential takes over the graph of its first layer
 * if that is a model.
 */
export function inlinedParts(container: Container): InlinedParts {
  const inlined = new Map<GraphTensor, Container>();
  const models = container.layers.filter(isContainer);
  if (models.length === 0) return inlined;
  const computed = new Set(executionOrder(container).map(({ output }) => output));
  for (const model of models) for (const output of model.outputs) if (computed.has(output)) inlined.set(output, model);
  return inlined;
}
