import { type DataId, type Tensor, util } from "@tensorflow/tfjs-core";
import type { EngineInternals, EngineTapeNode } from "../engine-internals.js";
import { releaseData, savedGone } from "./release-data.js";
import { unreadSaved } from "./unread-saved.js";

/**
 * Lets go of what the engine has just saved for `node`, as far as the backward pass will not read it: of all where no x leads to the node, else of
 * what its gradient function wants the shape of, or saved for the gradient of an input to which no x leads. `followers` are the ids of the tensors
 * to which an x leads, those of the xs at first; the node's outputs may join them.
 *
 * An inner pass of a higher-order gradient saves as stock. If it asks an earlier node for more than the outer one will, that is saved anew.
 *
 * @internal
 */
export function pruneSaved(engine: EngineInternals, node: EngineTapeNode, followers: Set<number>): void {
  const { inputs, outputs, saved = [], gradient } = node;
  const wanted = new Set<string>();
  for (const name of Object.keys(inputs)) if (inputs[name] != null && followers.has(inputs[name].id)) wanted.add(name);
  if (wanted.size > 0) for (const { id } of outputs) followers.add(id);
  if (engine.state.gradientDepth > 1 || saved.length === 0) return;
  const gone = new Map<Tensor, DataId>();
  for (const i of unreadSaved(node.kernelName, saved, wanted)) {
    const dataId = releaseData(engine, saved[i]);
    if (dataId !== undefined) gone.set(saved[i], dataId);
  }
  if (gone.size === 0) return;
  if (gradient === undefined || wanted.size === Object.keys(inputs).length) return;
  // Called on the engine's copy of the node, whose inputs are those that get a gradient.
  node.gradient = function (this: EngineTapeNode | undefined, dys) {
    const asked = new Set(Object.keys(this?.inputs ?? {}));
    if ([...asked].some((name) => !wanted.has(name))) saveAnew(engine, node, gone, asked);
    return gradient.call(this, dys);
  };
}

function saveAnew(
  engine: EngineInternals,
  { kernelName, inputs, outputs, saved = [] }: EngineTapeNode,
  gone: ReadonlyMap<Tensor, DataId>,
  asked: ReadonlySet<string>,
): void {
  const unread = new Set(unreadSaved(kernelName, saved, asked));
  saved.forEach((tensor, i) => {
    const dataId = gone.get(tensor);
    if (dataId === undefined || unread.has(i)) return;
    // A variable may have got other data, and a composite may have saved something else.
    const original = [...Object.values(inputs), ...outputs].find(
      (other) => other?.dataId === dataId && !other.isDisposed && util.arraysEqual(other.shape, tensor.shape),
    );
    if (original === undefined)
      throw savedGone(`the gradient function of ${kernelName}`, `${tensor.dtype} [${tensor.shape.join(", ")}]`);
    tensor.dispose();
    // The gradient function reads from this very list, which the tape disposes of.
    saved[i] = cloneToSave(engine, original);
  });
}

/** As the engine does where an op saves: within a kernel, since otherwise its Identity would be on the tape besides the clone. */
function cloneToSave(engine: EngineInternals, tensor: Tensor): Tensor {
  engine.state.kernelDepth++;
  try {
    const clone = engine.clone(tensor);
    clone.kept = true;
    return clone;
  } finally {
    engine.state.kernelDepth--;
  }
}
