import { env } from "@tensorflow/tfjs-core";
import type { FreedMemory } from "../backend.js";

/** The part of TensorFlow.js's `TextureManager` that is needed to empty it. */
interface TextureManager {
  readonly numBytesAllocated: number;
  readonly numBytesFree: number;
  /** Free textures by height, width, kind and packing: `64_32_3_true`. */
  readonly freeTextures: Record<string, object[]> | null;
  acquireTexture(shape: [number, number], usage: number, isPacked: boolean | undefined): object;
  releaseTexture(texture: object, shape: [number, number], usage: number, isPacked: boolean | undefined): void;
}

const managerOf = (instance: object): TextureManager =>
  (instance as { readonly textureManager: TextureManager }).textureManager;

/**
 * A `TextureUsage` of `tex_util.ts` for each kind (`PhysicalTextureType`): four bytes, or four 32-bit floats. For other
 * kinds it follows from the packing.
 */
const usageOfKind: Readonly<Record<string, number>> = { "2": 2, "3": 1 };
const render = 0;

/** TensorFlow.js deletes a released texture above this many bytes. -1 means never. */
const threshold = "WEBGL_DELETE_TEXTURE_THRESHOLD";

/**
 * Free textures that TensorFlow.js keeps for later ones of the same shape. TensorFlow.js itself deletes them, so that
 * its counts stay correct.
 */
export const textureCache: FreedMemory = {
  allocatedBytes: (instance) => managerOf(instance).numBytesAllocated,
  keptBytes: (instance) => managerOf(instance).numBytesFree,
  settle() {},
  trim(instance, keptBytes) {
    const manager = managerOf(instance);
    const before = env().getNumber(threshold);
    env().set(threshold, 0);
    try {
      for (const [key, textures] of Object.entries(manager.freeTextures ?? {})) {
        const [rows, columns, kind, packing] = key.split("_");
        const shape: [number, number] = [Number(rows), Number(columns)];
        const isPacked = packing === "undefined" ? undefined : packing === "true";
        const usage = usageOfKind[kind] ?? render;
        while (textures.length > 0 && manager.numBytesFree > keptBytes)
          manager.releaseTexture(manager.acquireTexture(shape, usage, isPacked), shape, usage, isPacked);
      }
    } finally {
      env().set(threshold, before);
    }
  },
};
