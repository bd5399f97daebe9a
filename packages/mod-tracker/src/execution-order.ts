import { type Container, type GraphTensor, isContainer, isInputLayer, type Layer } from "./layer-internals.js";

/** One call of a layer in a container's graph. */
export interface GraphCall {
  readonly layer: Layer;
  /** What it computes. A layer with several outputs is called for each that is wanted; that is what tfjs does. */
  readonly output: GraphTensor;
}

/**
 * Returns the calls that running a container makes, in tfjs-layers' order (`getTopologicalSortAndRecipientCounts` of its executor): what an output
 * depends on comes before it, the last input first. A part that is in `inlined` by what it computes is one call, whatever its graph is.
 */
export function executionOrder(container: Container, inlined: InlinedParts = new Map()): GraphCall[] {
  const calls: GraphCall[] = [];
  const visited = new Set<string>(container.inputs.map(({ name }) => name));
  for (const output of container.outputs) {
    const stack: { tensor: GraphTensor; next: number }[] = [];
    const visit = (tensor: GraphTensor) => {
      if (visited.has(tensor.name)) return;
      visited.add(tensor.name);
      stack.push({ tensor, next: inlined.has(tensor) ? -1 : tensor.inputs.length - 1 });
    };
    visit(output);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      if (top.next >= 0) {
        visit(top.tensor.inputs[top.next--]);
        continue;
      }
      stack.pop();
      const layer = inlined.get(top.tensor) ?? top.tensor.sourceLayer;
      if (!isInputLayer(layer)) calls.push({ layer, output: top.tensor });
    }
  }
  return calls;
}

/** By what they compute: models whose layers a container runs itself, without ever calling them. */
export type InlinedParts = ReadonlyMap<GraphTensor, Container>;

/** Returns the parts of a container whose graph is in its own: a Sequential takes over that of its first layer, where this is a model. */
export function inlinedParts(container: Container): InlinedParts {
  const inlined = new Map<GraphTensor, Container>();
  const models = container.layers.filter(isContainer);
  if (models.length === 0) return inlined;
  const computed = new Set(executionOrder(container).map(({ output }) => output));
  for (const model of models) for (const output of model.outputs) if (computed.has(output)) inlined.set(output, model);
  return inlined;
}
