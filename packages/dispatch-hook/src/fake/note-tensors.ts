import { Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals } from "../engine/index.js";
import { override, type Undo } from "./override.js";

/** Disposes of all tensors made since that are not part of `result`. */
export type Release = (result: unknown) => void;

/** Returns the tensors inside `value`, at any depth: in arrays, maps, sets and objects. */
function tensorsIn(value: unknown): Set<Tensor> {
  const found = new Set<Tensor>();
  const seen = new Set<unknown>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next === null || typeof next !== "object" || ArrayBuffer.isView(next) || seen.has(next)) continue;
    seen.add(next);
    if (next instanceof Tensor) found.add(next);
    else if (next instanceof Map) open.push(...next.keys(), ...next.values());
    else if (next instanceof Set) open.push(...next);
    else for (const part of Object.values(next)) if (typeof part === "object") open.push(part);
  }
  return found;
}

/** Records every tensor and variable made from now on. @internal */
export function noteTensors(engine: EngineInternals): { release: Release; stop: Undo } {
  const before = new Set(Object.values(engine.registeredVariables));
  let made: Tensor[] = [];
  let compactAt = 4096;
  const { track } = engine;
  const stop = override(engine, "track", function (this: unknown, tensor: Tensor): Tensor {
    // A tensor that already has a scope is only moved to the outer scope.
    if (tensor.scopeId === undefined) {
      if (made.length >= compactAt) {
        made = made.filter((t) => !t.isDisposed);
        compactAt = Math.max(4096, 2 * made.length);
      }
      made.push(tensor);
    }
    return track.call(this, tensor);
  });
  const release: Release = (result) => {
    const tensors = made.filter((t) => !t.isDisposed);
    const variables = Object.values(engine.registeredVariables).filter((v) => !before.has(v));
    made = [];
    if (tensors.length + variables.length === 0) return;
    const kept = tensorsIn(result);
    for (const tensor of tensors) if (!kept.has(tensor)) tensor.dispose();
    for (const variable of variables) if (!kept.has(variable)) variable.dispose();
  };
  return { release, stop };
}
