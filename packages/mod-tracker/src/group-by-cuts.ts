import type { GraphCall } from "./execution-order.js";
import type { Part } from "./forward-module.js";
import type { GroupPaths } from "./group-by-prefix.js";
import { type Container, type GraphTensor, isContainer, isLayer, type Layer, ownWeights } from "./layer-internals.js";
import { partsOf } from "./parts-of.js";

/**
 * Groups layers between single-tensor cuts. A cut is a point in the execution order where one tensor is all that later
 * layers need. The layers between two neighbouring cuts form a group, such as a residual block or an inception module.
 *
 * If the graph is a chain, each layer with a kernel forms a group with the layers up to the next such layer, for
 * example a convolution with its normalization and activation. A nested model, or a layer that contains several layers,
 * already is a block and stands alone. Single layers form no group. Groups are named by their first and last layer.
 */
export function groupByCuts(container: Container, calls: readonly GraphCall[]): GroupPaths {
  const segments: Layer[][] = [];
  let chain: Layer[] = [];
  const endChain = () => {
    if (chain.length > 0) segments.push(chain);
    chain = [];
  };
  let from = 0;
  for (const end of cutsIn(container, calls)) {
    const layers = calls.slice(from, end + 1).map(({ layer }) => layer);
    from = end + 1;
    const [layer] = layers;
    if (layer === undefined || layers.length > 1) {
      endChain();
      segments.push(layers);
    } else {
      const alone = isBlock(layer);
      if (alone || hasKernel(layer)) endChain();
      chain.push(layer);
      if (alone) endChain();
    }
  }
  endChain();
  const paths = new Map<Layer, readonly string[]>();
  const segmentOf = new Map<Layer, Layer[] | undefined>();
  for (const segment of segments)
    for (const layer of new Set(segment)) segmentOf.set(layer, segmentOf.has(layer) ? undefined : segment);
  for (const [layer, segment] of segmentOf) {
    // A layer that is called from several segments belongs to none of them.
    if (segment === undefined || new Set(segment).size < 2 || segment.length === calls.length) continue;
    paths.set(layer, [`${segment[0]?.name}-${segment.at(-1)?.name}`]);
  }
  return paths;
}

/** Returns the last position before each cut, including the end. */
function cutsIn(container: Container, calls: readonly GraphCall[]): number[] {
  const lastUse = new Map<GraphTensor, number>();
  calls.forEach(({ output }, at) => {
    for (const input of output.inputs) lastUse.set(input, at);
  });
  for (const output of container.outputs) lastUse.set(output, Number.POSITIVE_INFINITY);
  const alive = new Set<GraphTensor>(container.inputs);
  const cuts: number[] = [];
  calls.forEach(({ output }, at) => {
    alive.add(output);
    for (const tensor of alive) if ((lastUse.get(tensor) ?? -1) <= at) alive.delete(tensor);
    if (alive.size === 1) cuts.push(at);
  });
  if (cuts.at(-1) !== calls.length - 1) cuts.push(calls.length - 1);
  return cuts;
}

const isBlock = (layer: Layer): boolean => isContainer(layer) || partsOf(layer).length > 1;

/** Includes kernels of nested layers, such as the cell of a recurrent layer. */
function hasKernel(layer: Layer): boolean {
  const seen = new Set<Part>([layer]);
  // Iteration over a set includes items added during the loop.
  for (const part of seen) {
    if (isLayer(part) && ownWeights(part).parameters.some(({ rank }) => rank > 1)) return true;
    for (const [, inner] of partsOf(part)) seen.add(inner);
  }
  return false;
}
