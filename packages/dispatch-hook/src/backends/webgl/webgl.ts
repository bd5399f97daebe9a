import type { Backend, DeviceWatch } from "../backend.js";
import { gpuBytes } from "../gpu-bytes.js";
import { alwaysWhole } from "../sharing-rules.js";
import { webglResidency } from "./residency.js";
import { textureCache } from "./texture-cache.js";
import { webglWithoutDevice } from "./without-device.js";

/** A view that begins somewhere in the texture of another `DataId` says so (`kernels/Slice.ts`). */
interface TextureEntry {
  readonly slice?: { readonly origDataId: object } | null;
}

/** The context that an instance computes in, and the canvas, which tells of its loss. */
interface ContextOwner {
  readonly gpgpu: { readonly gl: { readonly canvas: EventTarget; isContextLost(): boolean } };
}

/** The event comes between turns of the event loop, the context itself knows at once, but not for ever: the browser may restore it, without its textures. */
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
 * WebGL, read in tfjs-backend-webgl 4.22.0. `Identity` returns its input's `DataId`, and so does `Reshape` unless the texture is packed in another
 * way; a contiguous slice of an unpacked texture has a `DataId` of its own on the same texture. Textures round up, and are recycled by shape: what
 * is freed is not given back.
 */
export const webgl: Backend = {
  name: "webgl",
  priority: 2,
  kernels: {
    unknown:
      "its kernels are in no table, and run without a GPU only once tf.setBackend('webgl') has started it in a page",
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
