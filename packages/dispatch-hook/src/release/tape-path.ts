import type { NamedTensorMap, Tensor } from "@tensorflow/tfjs-core";
import type { EngineTapeNode } from "../engine-internals.js";

/**
 * Returns the nodes on the paths from `xs` to `y`, in the tape's order. Each keeps only the inputs that depend on an x,
 * as in unmodified TensorFlow.js, since only those get a gradient.
 *
 * @internal
 */
export function nodesFromTo(tape: readonly EngineTapeNode[], xs: readonly Tensor[], y: Tensor): EngineTapeNode[] {
  const fromX = new Set<number>();
  for (const { id } of xs) fromX.add(id);
  const isFromX = new Uint8Array(tape.length);
  tape.forEach((node, at) => {
    if (!tensorsOf(node.inputs).some(({ id }) => fromX.has(id))) return;
    isFromX[at] = 1;
    for (const { id } of node.outputs) fromX.add(id);
  });
  const toY = new Set<number>([y.id]);
  const path: EngineTapeNode[] = [];
  for (let at = tape.length - 1; at >= 0; at--) {
    const node = tape[at];
    if (!node.outputs.some(({ id }) => toY.has(id))) continue;
    const inputs = tensorsOf(node.inputs);
    for (const { id } of inputs) toY.add(id);
    if (isFromX[at] === 1 && inputs.length > 0) path.push({ ...node, inputs: onlyFrom(node.inputs, fromX) });
  }
  return path.reverse();
}

/** Optional inputs may be missing, and some kernels have a list. */
const tensorsOf = (inputs: NamedTensorMap): Tensor[] => Object.values(inputs).filter((tensor) => tensor != null);

function onlyFrom(inputs: NamedTensorMap, ids: ReadonlySet<number>): NamedTensorMap {
  const kept: NamedTensorMap = {};
  for (const name of Object.keys(inputs))
    if (inputs[name] != null && ids.has(inputs[name].id)) kept[name] = inputs[name];
  return kept;
}
