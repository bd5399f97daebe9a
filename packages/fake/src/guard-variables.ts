import type { EngineInternals } from "@remat/dispatch-hook/engine";
import type { Undo } from "./override.js";

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
  for (const { dataId, backend } of guarded) backend?.incRef?.(dataId);
  return () => {
    for (const { variable, dataId, backend } of guarded) {
      if (backend === undefined) continue;
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
