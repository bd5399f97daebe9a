import { backend, type DataId } from "@tensorflow/tfjs-core";
import type { EngineInternals } from "../engine/index.js";
import type { Undo } from "./override.js";

/** How often fake modes that are open hold it. */
const guards = new WeakMap<DataId, number>();

/**
 * Returns how many tensors are on data, of what backend ever: what fake mode holds lest it be lost does not count.
 *
 * @example
 * const isShared = tensorsOnData(variable.dataId) > 1;
 */
export const tensorsOnData = (dataId: DataId): number => backend().refCount(dataId) - (guards.get(dataId) ?? 0);

function guard(dataId: DataId, count: 1 | -1): void {
  guards.set(dataId, (guards.get(dataId) ?? 0) + count);
}

/**
 * Holds the data of variables while fake kernels run: an optimizer step in fake mode assigns fake tensors to them, which would give
 * their values up; in one that lies within another, data without values is held, too, so that the outer one finds the buffers that it knows. The function returned gives every variable its own data back. @internal
 */
export function guardVariables(engine: EngineInternals): Undo {
  const guarded = Object.values(engine.registeredVariables)
    .map((variable) => ({
      variable,
      dataId: variable.dataId,
      backend: engine.state.tensorInfo.get(variable.dataId)?.backend,
    }))
    .filter(({ backend }) => backend !== undefined);
  for (const { dataId, backend } of guarded) {
    backend?.incRef?.(dataId);
    guard(dataId, 1);
  }
  return () => {
    for (const { variable, dataId, backend } of guarded) {
      if (backend === undefined) continue;
      guard(dataId, -1);
      if (variable.isDisposed || variable.dataId === dataId) {
        if (backend.disposeData?.(dataId)) engine.removeDataId(dataId, backend);
      } else {
        engine.disposeTensor(variable);
        variable.dataId = dataId;
        engine.trackTensor(variable, backend);
      }
    }
  };
}
