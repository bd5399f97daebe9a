import type { DataType, Tensor } from "@tensorflow/tfjs-core";
import { type EngineBackend, engineInternals } from "../engine/index.js";
import type { FakeInstance } from "./fake-instance.js";

/** Makes a tensor without values on a fake backend. @internal */
export function makeFakeTensor(backend: FakeInstance, shape: number[], dtype: DataType): Tensor {
  backend.kernel = "a call of fakeTensor";
  return engineInternals().makeTensorFromTensorInfo(backend.make(shape, dtype), backend as EngineBackend);
}
