import { type CloseMode, currentBackend } from "@remat/dispatch-hook";
import { guardData } from "@remat/dispatch-hook/tensors";
import { RematError } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import { backend, type MemoryInfo, memory } from "@tensorflow/tfjs-core";

/**
 * Stops training as soon as the page loses its WebGL context, which browsers do when the GPU is out of memory.
 * TensorFlow.js would continue with lost textures and leave garbage in the weights.
 *
 * After the loss every op and every read of values throws. Watches the current backend, and does nothing on a backend
 * that has no context. Returns a function that ends it.
 *
 * @throws RematError `WEBGL_CONTEXT_LOST` from ops and reads after the loss
 * @example
 * const end = stopOnContextLoss();
 * await model.fit(x, y);
 * end();
 */
export function stopOnContextLoss(): CloseMode {
  const watch = currentBackend().watchDevice?.(backend());
  if (watch === undefined) return () => {};
  const close = guardData((kernel) => {
    if (watch.isLost()) throw contextLost(kernel);
  });
  return () => {
    close();
    watch.close();
  };
}

function contextLost(kernel: string | undefined): RematError {
  const { numBytesInGPU = 0 } = memory() as MemoryInfo & { numBytesInGPU?: number };
  const when = kernel === undefined ? "before values were read" : `before ${kernel} ran`;
  return new RematError(
    "WEBGL_CONTEXT_LOST",
    `the WebGL context was lost ${when} with ${formatBytes(numBytesInGPU)} in textures, ` +
      "so all tensors and weights are gone. Reload the page, restore saved weights, and use less memory: " +
      "releaseEarly() or a smaller batch.",
  );
}
