import type { Tensor } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine-internals.js";

/** Calls `look` with the tensors that the engine knows of and that are alive: those of all scopes that are open, and what is saved on the tape. For who begins to count in the middle of a pass. */
export function eachLivingTensor(look: (tensor: Tensor) => void): void {
  const { state } = engineInternals();
  const living = (tensor: Tensor): void => {
    if (!tensor.isDisposed) look(tensor);
  };
  for (const { track } of state.scopeStack) track.forEach(living);
  for (const { saved } of state.activeTape ?? []) saved?.forEach(living);
}
