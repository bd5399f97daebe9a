import type { DataId } from "@tensorflow/tfjs-core";
import type { Residency } from "../backend.js";
import type { DataEntry } from "../data-entry.js";

/** An entry whose data is JavaScript's until a program reads it, then in a texture; once it was read, in both. */
interface TextureEntry extends DataEntry {
  shape: readonly number[];
  texture?: object | null;
  texShape?: readonly number[] | null;
  usage?: number | null;
  isPacked?: boolean;
  slice?: object | null;
}

interface TextureOwner {
  /** Gives a texture back to the manager, unless slices of it live on, and forgets how it was laid out. */
  releaseGPUData(dataId: DataId): void;
}

/** `TextureUsage.UPLOAD` of `tex_util.ts`: what `write` marks values with that JavaScript gives. */
const upload = 1;

/** The residency of data in textures. */
export const webglResidency: Residency = {
  release(entry, instance, dataId) {
    (instance as TextureOwner).releaseGPUData(dataId);
    entry.values = null;
  },
  /** With its shape, too: that of the texture, which a packed one may have of an earlier view. */
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
