import { RematError } from "@remat/trace";
import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import type { EngineBackend, EngineInternals } from "../engine-internals.js";

/** Of all whose data is released. */
const released: DataId = {};

/** What the engine takes for its backend. */
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
    "a gradient function reads a saved tensor whose data early release has freed, since TensorFlow.js's own function for that op does not read it. " +
      "Register it once remat is imported, or under the name of a kernel of your own, or do without releaseEarly().",
  );

/**
 * Releases the data of `tensor`, which is freed if no other tensor is on it, but stays a tensor of its shape and dtype: counted in `tf.memory()`, and to be
 * disposed of. To read it is an error. Texts stay as they are.
 *
 * @internal
 */
export function releaseData(engine: EngineInternals, tensor: Tensor): void {
  const { state } = engine;
  // Their bytes are counted by `DataId`.
  if (tensor.dtype === "string") return;
  if (!state.tensorInfo.has(released)) state.tensorInfo.set(released, { backend: nobody, bytes: 0 });
  const { numTensors, numBytes } = state;
  engine.disposeTensor(tensor);
  state.numTensors = numTensors;
  state.numBytes = numBytes;
  tensor.dataId = released;
}
