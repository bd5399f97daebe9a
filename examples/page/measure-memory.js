import { openDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs";

/** Memory of tensors: on the GPU if the backend reports that, otherwise in total. */
const bytesHeld = () => {
  const { numBytes, numBytesInGPU } = tf.memory();
  return numBytesInGPU ?? numBytes;
};

/**
 * Runs `step` and returns its result, the memory of tensors after each op, and the time until its values were
 * available.
 */
export async function measure(step) {
  const held = [bytesHeld()];
  const close = openDispatchMode({ opOver: () => void held.push(bytesHeld()) });
  const began = performance.now();
  try {
    const result = await step();
    return { result, held, ms: performance.now() - began };
  } finally {
    close();
  }
}
