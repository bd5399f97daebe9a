import type { DataId } from "@tensorflow/tfjs-core";
import type { Residency } from "../backend.js";
import type { DataEntry } from "../data-entry.js";

/**
 * An entry whose data is in JavaScript until a program reads it, and in a texture afterwards. Once it was read back, it
 * is in both.
 */
interface TextureEntry extends DataEntry {
  shape: readonly number[];
  texture?: object | null;
  texShape?: readonly number[] | null;
  usage?: number | null;
  isPacked?: boolean;
  slice?: object | null;
}

interface TextureOwner {
  /** Returns a texture to the manager, unless slices of it are alive, and clears its layout. */
  releaseGPUData(dataId: DataId): void;
}

/** `TextureUsage.UPLOAD` of `tex_util.ts`, with which `write` marks values from JavaScript. */
const upload = 1;

/** The residency of data in textures. */
export const webglResidency: Residency = {
  release(entry, instance, dataId) {
    (instance as TextureOwner).releaseGPUData(dataId);
    entry.values = null;
  },
  /** Also moves the shape of the texture. A packed texture may have the shape of an earlier view. */
  move(from, to) {
    const source = from as TextureEntry;
    const { shape, texture, texShape, usage, isPacked, slice, values } = source;
    Object.assign(to, { shape, texture, texShape, usage, isPacked, slice, values });
    Object.assign(source, { texture: null, texShape: null, slice: null, values: null });
  },
  valuesOf: ({ values }) => values,
  restore(entry, values) {
    Object.assign(entry, { values, texture: null, texShape: null, slice: null, isPacked: false, usage: upload });
  },
};
