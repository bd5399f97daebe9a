import { sharingBackends } from "@remat/backends";
import { currentFakeBackend } from "@remat/fake";
import { RematError } from "@remat/trace";
import { getBackend } from "@tensorflow/tfjs-core";

const reasons: Readonly<Record<string, string>> = {
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
  if (sharingBackends.includes(name)) return;
  throw new RematError(
    "BACKEND_UNSUPPORTED",
    `nothing can be let go of and made again on the backend '${name}': ${reasons[name] ?? "what shares a buffer there is not known"}. Expected tensorflow (native), wasm or cpu; call selectBackend(), or use releaseEarly(), which works everywhere.`,
  );
}
