import { backend, type DataId } from "@tensorflow/tfjs-core";
import type { EngineInternals } from "../engine/index.js";
import type { Undo } from "./override.js";

/** How many references open fake modes have to data. */
const guards = new WeakMap<DataId, number>();

/**
 * Returns the number of tensors on data, on any backend. References by which fake mode protects the data do not count.
 *
 * @example
 * const isShared = tensorsOnData(variable.dataId) > 1;
 */
export const tensorsOnData = (dataId: DataId): number => backend().refCount(dataId) - (guards.get(dataId) ?? 0);

function guard(dataId: DataId, count: 1 | -1): void {
  guards.set(dataId, (guards.get(dataId) ?? 0) + count);
}

/**
 * Protects the data of variables while fake kernels run. An optimizer step in fake mode assigns fake tensors to
 * variables, which would free their values. In a nested fake mode, data without values is protected as well, so that
 * the outer one finds its buffers. The returned function restores the data of every variable. @internal
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
