import type { Tensor } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine-internals.js";

/**
 * Calls `look` with all living tensors that the engine knows: those of all open scopes, and saved tensors on the tape.
 * For code that begins to count during a pass.
 */
export function eachLivingTensor(look: (tensor: Tensor) => void): void {
  const { state } = engineInternals();
  const living = (tensor: Tensor): void => {
    if (!tensor.isDisposed) look(tensor);
  };
  for (const { track } of state.scopeStack) track.forEach(living);
  for (const { saved } of state.activeTape ?? []) saved?.forEach(living);
}
