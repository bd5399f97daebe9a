import type { Tensor } from "@tensorflow/tfjs-core";
import { savingCopies } from "./backends/shared-buffers.js";
import { bufferBackend } from "./current-backend.js";
import type { EngineInternals } from "./engine-internals.js";

/**
 * Returns the result of the engine's Identity of `x` on the data of `x` itself. The copy is unnecessary, because
 * tensors are immutable. Undefined if the kernel shares the data anyway, and for strings, whose data is in JavaScript.
 *
 * @internal
 */
export function shareSaved(engine: EngineInternals, x: Tensor | undefined): Tensor | undefined {
  // The kernel itself rejects inputs that are not tensors.
  if (x?.dataId === undefined) return undefined;
  const { dataId, shape, dtype } = x;
  const { backendName, backendInstance } = engine;
  if (backendInstance?.incRef === undefined || dtype === "string") return undefined;
  if (!savingCopies(bufferBackend(backendName ?? "", backendInstance))) return undefined;
  backendInstance.incRef(dataId);
  return engine.makeTensorFromTensorInfo({ dataId, shape, dtype });
}
