import { engineInternals } from "@remat/dispatch-hook/engine";
import type { DataType, Tensor } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "./fake-backend.js";

/** @internal */
export function makeFakeTensor(backend: FakeBackend, shape: number[], dtype: DataType): Tensor {
  backend.kernel = "a call of fakeTensor";
  return engineInternals().makeTensorFromTensorInfo(backend.make(shape, dtype), backend);
}
