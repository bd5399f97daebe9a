import { openDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs";

/** What tensors take: on the GPU where the backend tells it, else in all. */
const bytesHeld = () => {
  const { numBytes, numBytesInGPU } = tf.memory();
  return numBytesInGPU ?? numBytes;
};

/** Runs `step` and returns what it returns, what tensors took after each op, and how long it took until its values were there. */
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
