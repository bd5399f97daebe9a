import { type Container, type GraphTensor, isInputLayer, type Layer } from "./layer-internals.js";

/** One call of a layer in a container's graph. */
export interface GraphCall {
  readonly layer: Layer;
  /** What it computes. A layer with several outputs is called for each that is wanted; that is what tfjs does. */
  readonly output: GraphTensor;
}

/**
 * Returns the calls that running a container makes, in tfjs-layers' order (`getTopologicalSortAndRecipientCounts` of its executor): what an output
 * depends on comes before it, the last input first.
 */
export function executionOrder(container: Container): GraphCall[] {
  const calls: GraphCall[] = [];
  const visited = new Set<string>(container.inputs.map(({ name }) => name));
  for (const output of container.outputs) {
    const stack: { tensor: GraphTensor; next: number }[] = [];
    const visit = (tensor: GraphTensor) => {
      if (visited.has(tensor.name)) return;
      visited.add(tensor.name);
      stack.push({ tensor, next: tensor.inputs.length - 1 });
    };
    visit(output);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      if (top.next >= 0) {
        visit(top.tensor.inputs[top.next--]);
        continue;
      }
      stack.pop();
      const layer = top.tensor.sourceLayer;
      if (!isInputLayer(layer)) calls.push({ layer, output: top.tensor });
    }
  }
  return calls;
}
