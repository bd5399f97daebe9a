import { type DataType, engine, type Tensor } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "./fake-backend.js";

/** @internal */
export function makeFakeTensor(backend: FakeBackend, shape: number[], dtype: DataType): Tensor {
  backend.kernel = "a call of fakeTensor";
  return engine().makeTensorFromTensorInfo(backend.make(shape, dtype), backend);
}
