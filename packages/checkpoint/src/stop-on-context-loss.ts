import { type CloseMode, currentBackend } from "@remat/dispatch-hook";
import { guardData } from "@remat/dispatch-hook/tensors";
import { RematError } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import { backend, type MemoryInfo, memory } from "@tensorflow/tfjs-core";

/**
 * Stops at once where the page loses its WebGL context, as browsers take it away where the GPU has no memory left: TensorFlow.js goes on computing with textures that are gone, and
 * leaves garbage in the weights. From the loss on every op throws, and so does reading values. Of the backend that is current now; on one that loses no context it does
 * nothing. Returns what ends it.
 *
 * @throws RematError `WEBGL_CONTEXT_LOST`, by ops and reads after the loss
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
    `the WebGL context was lost ${when}, with ${formatBytes(numBytesInGPU)} in textures: all data on the GPU is gone, weights too, and what is computed from here on is garbage. Expected a context that lasts; load the page again, go on from the weights that were saved last, and take less memory: releaseEarly(), withMemoryBudget(), or a smaller batch.`,
  );
}
