import { RematError } from "@remat/trace";
import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import type { EngineBackend, EngineInternals } from "../engine-internals.js";

/** Of all that have let go of their data. */
const released: DataId = {};

/** What the engine takes for its backend. */
const nobody: EngineBackend = {
  disposeData: () => false,
  numDataIds: () => 0,
  readSync() {
    throw savedGone("a gradient function", "tensor");
  },
  read() {
    throw savedGone("a gradient function", "tensor");
  },
};

/** @internal */
export const savedGone = (reader: string, saved: string): RematError =>
  new RematError(
    "SAVED_GONE",
    `${reader} reads a saved ${saved} whose data early release has let go of: no gradient that was asked for needs it. ` +
      "An inner gradient may ask for more than the one around it: compute inside its function what it differentiates; or do without releaseEarly().",
  );

/**
 * `tensor` lets go of its data, which goes if no other tensor is on it, but stays a tensor of its shape and dtype: counted in `tf.memory()`, and to be
 * disposed of. To read it is an error. Returns the `DataId` that it had; undefined for texts, which stay as they are.
 *
 * @internal
 */
export function releaseData(engine: EngineInternals, tensor: Tensor): DataId | undefined {
  const { state } = engine;
  const { dataId, dtype } = tensor;
  // Their bytes are counted by `DataId`.
  if (dtype === "string") return undefined;
  if (!state.tensorInfo.has(released)) state.tensorInfo.set(released, { backend: nobody, bytes: 0 });
  const { numTensors, numBytes } = state;
  engine.disposeTensor(tensor);
  state.numTensors = numTensors;
  state.numBytes = numBytes;
  tensor.dataId = released;
  return dataId;
}
