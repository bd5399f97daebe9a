import type { Backend, DeviceWatch } from "../backend.js";
import { gpuBytes } from "../gpu-bytes.js";
import { alwaysWhole } from "../sharing-rules.js";
import { webglResidency } from "./residency.js";
import { textureCache } from "./texture-cache.js";
import { webglWithoutDevice } from "./without-device.js";

/** A view that begins inside the texture of another `DataId` refers to it (`kernels/Slice.ts`). */
interface TextureEntry {
  readonly slice?: { readonly origDataId: object } | null;
}

/** The context of an instance, and its canvas, which reports the loss of the context. */
interface ContextOwner {
  readonly gpgpu: { readonly gl: { readonly canvas: EventTarget; isContextLost(): boolean } };
}

/**
 * The event arrives between turns of the event loop. The context itself knows at once, but only until the browser
 * restores it, without its textures.
 */
function watchContext(instance: object): DeviceWatch {
  const { gl } = (instance as ContextOwner).gpgpu;
  let isLost = false;
  const lost = (): void => {
    isLost = true;
  };
  gl.canvas.addEventListener("webglcontextlost", lost);
  return {
    isLost: () => (isLost ||= gl.isContextLost()),
    close: () => gl.canvas.removeEventListener("webglcontextlost", lost),
  };
}

/**
 * WebGL, from the source of tfjs-backend-webgl 4.22.0. `Identity` returns its input's `DataId`, and so does `Reshape`
 * unless the texture is packed differently. A contiguous slice of an unpacked texture has its own `DataId` on the same
 * texture. Texture sizes are rounded up, and freed textures are kept for reuse by shape.
 */
export const webgl: Backend = {
  name: "webgl",
  priority: 2,
  kernels: {
    unknown: "its kernels are known only after tf.setBackend('webgl') has started it in a page",
  },
  sharing: new Map([["Identity", alwaysWhole("x")]]),
  residency: webglResidency,
  freedMemory: textureCache,
  withoutDevice: webglWithoutDevice,
  bytesOf: gpuBytes,
  viewOf: (entry) => (entry as TextureEntry).slice?.origDataId,
  watchDevice: watchContext,
  deviceOf: () => ({ device: "webgl:0", allocationUnitBytes: 1, isAsynchronous: true }),
};
