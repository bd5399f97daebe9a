import { Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals } from "../engine/index.js";

/**
 * Ends the innermost scope in the same way as `Engine.endScope` of tfjs-core 4.22, without a list and a set of the kept
 * tensors. Every op opens a scope, and nearly all return one tensor. Returns false if only the engine can end the scope,
 * because `result` may contain several tensors.
 *
 * @internal
 */
export function endFakeScope(engine: EngineInternals, result: unknown): boolean {
  const kept = result instanceof Tensor ? (result as Tensor & { readonly scopeId: number }) : undefined;
  if (kept === undefined && typeof result === "object" && result !== null) return false;
  const { state } = engine;
  const scope = state.scopeStack[state.scopeStack.length - 1];
  for (let i = 0; i < scope.track.length; i++) {
    const tensor = scope.track[i];
    if (!tensor.kept && tensor.id !== kept?.id) tensor.dispose();
  }
  state.scopeStack.pop();
  state.activeScope = state.scopeStack[state.scopeStack.length - 1] ?? null;
  if (kept !== undefined && !kept.kept && kept.scopeId === scope.id) engine.track(kept);
  return true;
}
