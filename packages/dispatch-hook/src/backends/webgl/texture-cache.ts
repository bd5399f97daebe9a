import { env } from "@tensorflow/tfjs-core";
import type { FreedMemory } from "../backend.js";

/** As much of tfjs's `TextureManager` as is needed to empty it. */
interface TextureManager {
  readonly numBytesAllocated: number;
  readonly numBytesFree: number;
  /** By height, width, kind and packing: `64_32_3_true`. */
  readonly freeTextures: Record<string, object[]> | null;
  acquireTexture(shape: [number, number], usage: number, isPacked: boolean | undefined): object;
  releaseTexture(texture: object, shape: [number, number], usage: number, isPacked: boolean | undefined): void;
}

const managerOf = (instance: object): TextureManager =>
  (instance as { readonly textureManager: TextureManager }).textureManager;

/** A `TextureUsage` of `tex_util.ts` that gives the kind, a `PhysicalTextureType`: four bytes, four floats of 32 bits; for all others it follows from the packing. */
const usageOfKind: Readonly<Record<string, number>> = { "2": 2, "3": 1 };
const render = 0;

/** Above so many bytes tfjs deletes a texture that is released; -1 for never. */
const threshold = "WEBGL_DELETE_TEXTURE_THRESHOLD";

/** Textures that nobody needs, which tfjs keeps for the next of the same shape. It is tfjs itself that deletes them, so that its counts stay true. */
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
