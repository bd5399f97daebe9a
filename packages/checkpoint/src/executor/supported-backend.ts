import { currentFakeBackend } from "@remat/dispatch-hook/fake";
import { RematError } from "@remat/trace";
import { getBackend } from "@tensorflow/tfjs-core";

const reasons: Readonly<Record<string, string>> = {
  wasm: "its Identity copies, so that what autograd saves is no view of what is let go of, and it has no gradient kernels for convolutions",
  webgl: "it holds textures, which are not managed yet",
  webgpu: "it holds GPU buffers of its own, which are not managed yet",
};

/**
 * Refuses the backends under whose tensors data cannot go.
 *
 * @internal
 */
export function checkBackend(): void {
  const name = currentFakeBackend() ?? getBackend();
  if (name === "cpu" || name === "tensorflow") return;
  throw new RematError(
    "BACKEND_UNSUPPORTED",
    `nothing can be let go of and made again on the backend '${name}': ${reasons[name] ?? "what shares a buffer there is not known"}. Expected tensorflow (native) or cpu; call selectBackend(), or use releaseEarly(), which works everywhere.`,
  );
}
