import type { Tensor } from "@tensorflow/tfjs-core";
import { savingCopies } from "./backends/shared-buffers.js";
import { bufferBackend } from "./current-backend.js";
import type { EngineInternals } from "./engine-internals.js";

/**
 * What the engine's Identity would make of `x`, on the data of `x` itself: nobody writes into a tensor, so the copy is one for nothing. Undefined where
 * the kernel shares the data anyway, and for texts, whose data is JavaScript's.
 *
 * @internal
 */
export function shareSaved(engine: EngineInternals, x: Tensor | undefined): Tensor | undefined {
  // What is not a tensor, the kernel refuses in its own words.
  if (x?.dataId === undefined) return undefined;
  const { dataId, shape, dtype } = x;
  const { backendName, backendInstance } = engine;
  if (backendInstance?.incRef === undefined || dtype === "string") return undefined;
  if (!savingCopies(bufferBackend(backendName ?? "", backendInstance))) return undefined;
  backendInstance.incRef(dataId);
  return engine.makeTensorFromTensorInfo({ dataId, shape, dtype });
}
