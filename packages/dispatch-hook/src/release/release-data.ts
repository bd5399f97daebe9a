import { RematError } from "@remat/trace";
import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import type { EngineBackend, EngineInternals } from "../engine-internals.js";

/** Shared by all tensors whose data is released. */
const released: DataId = {};

/** Backend of released data, for the engine. */
const nobody: EngineBackend = {
  disposeData: () => false,
  numDataIds: () => 0,
  readSync() {
    throw savedFreed();
  },
  read() {
    throw savedFreed();
  },
};

const savedFreed = (): RematError =>
  new RematError(
    "SAVED_GONE",
    "a gradient function reads a saved tensor that early release freed, because TensorFlow.js's gradient of that op does not read it. " +
      "Register the gradient after importing remat, or remove releaseEarly().",
  );

/**
 * Releases the data of `tensor`, which is freed if no other tensor uses it. The tensor keeps its shape and dtype, is
 * counted in `tf.memory()`, and must still be disposed of. Reading it is an error. Strings are not released.
 *
 * @internal
 */
export function releaseData(engine: EngineInternals, tensor: Tensor): void {
  const { state } = engine;
  // Bytes of strings are counted by `DataId`.
  if (tensor.dtype === "string") return;
  if (!state.tensorInfo.has(released)) state.tensorInfo.set(released, { backend: nobody, bytes: 0 });
  const { numTensors, numBytes } = state;
  engine.disposeTensor(tensor);
  state.numTensors = numTensors;
  state.numBytes = numBytes;
  tensor.dataId = released;
}
