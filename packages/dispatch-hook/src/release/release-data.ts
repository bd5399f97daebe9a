import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import type { EngineBackend, EngineInternals } from "../engine-internals.js";

/** Stands for the data of a tensor that has let go of it. */
class ReleasedData implements EngineBackend {
  constructor(private readonly whenRead: () => Error) {}

  disposeData(): boolean {
    return false;
  }

  numDataIds(): number {
    return 0;
  }

  readSync(): never {
    throw this.whenRead();
  }

  async read(): Promise<never> {
    throw this.whenRead();
  }
}

/**
 * `tensor` lets go of its data, which goes if no other tensor is on it, but stays a tensor of its shape and dtype: counted in `tf.memory()`, and to be
 * disposed of. Whoever reads it gets an error, on backends that say where data is not theirs that of `whenRead`. Returns the `DataId` that it had.
 *
 * @internal
 */
export function releaseData(engine: EngineInternals, tensor: Tensor, whenRead: () => Error): DataId {
  const { state } = engine;
  const { dataId, dtype, shape } = tensor;
  const info = state.tensorInfo.get(dataId);
  if (info === undefined) return dataId;
  const { numTensors, numStringTensors, numBytes } = state;
  engine.disposeTensor(tensor);
  Object.assign(state, { numTensors, numStringTensors, numBytes });
  tensor.dataId = {};
  state.tensorInfo.set(tensor.dataId, { backend: new ReleasedData(whenRead), dtype, shape, bytes: info.bytes });
  return dataId;
}
