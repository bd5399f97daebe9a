import { elementsOf, RematError } from "@remat/trace";
import { type DataType, type Tensor, tensor } from "@tensorflow/tfjs-core";
import { type Group, isDataset, openFile } from "./jsfive.js";
import type { StoredArray } from "./stored-weights.js";

/** The first bytes of every HDF5 file. */
const signature = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];

/** Tells whether bytes are those of an HDF5 file. */
export function isHdf5(bytes: Uint8Array): boolean {
  return signature.every((byte, i) => bytes[i] === byte);
}

/**
 * Opens an HDF5 file, and runs what reads it.
 *
 * @throws RematError `KERAS_WEIGHTS_FILE` where it is broken or of a kind that is not read
 */
export function readingHdf5<T>(bytes: Uint8Array, from: string, read: (root: Group) => T): T {
  return reading(from, () => {
    if (bytes.length === 0) throw new Error("it is empty");
    const { buffer, byteOffset, byteLength } = bytes;
    const isWhole = byteOffset === 0 && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer;
    return read(openFile(isWhole ? buffer : (bytes.slice().buffer as ArrayBuffer), from));
  });
}

function reading<T>(from: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof RematError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RematError(
      "KERAS_WEIGHTS_FILE",
      `${from}: not whole, or not HDF5 as Keras writes it (${why}). Save the model or its weights again in Keras, and copy the file whole.`,
      { cause },
    );
  }
}

/** Returns the groups of a group, by name. */
export function groupsOf(group: Group): ReadonlyMap<string, Group> {
  const all = group.keys.map((key) => [key, group.get(key)] as const);
  return new Map(all.filter((each): each is [string, Group] => !isDataset(each[1])));
}

/** Returns the array of a group at `path`. */
export function arrayOf(group: Group, path: string, name: string, from: string): StoredArray {
  const found = group.get(path);
  if (!isDataset(found)) throw new Error(`${name} is no array`);
  const { shape } = found;
  const size = elementsOf(shape);
  return {
    name,
    shape,
    read: (dtype: DataType): Tensor =>
      reading(from, () => {
        const values = found.value;
        if (values.length !== size || typeof (values[0] ?? 0) !== "number")
          throw new Error(
            `${name} has ${values.length} values of type ${String(found.dtype)}, expected ${size} numbers`,
          );
        return tensor(values as number[], shape, dtype);
      }),
  };
}

/** Returns an attribute, of which Keras writes what is long in parts: `weight_names0`, `weight_names1`, … */
export function attributeOf({ attrs }: Group, name: string): string | readonly string[] | undefined {
  const parts = Object.hasOwn(attrs, name) ? [attrs[name]] : partsOf(attrs, name);
  if (parts.length === 0) return undefined;
  if (parts.every((part) => typeof part === "string")) return parts.join("");
  // Of an empty list h5py makes numbers; the shorter of long names are filled up with zeros.
  return parts.flat().flatMap((part) => (typeof part === "string" ? [part.replace(/\0+$/, "")] : []));
}

function partsOf(attributes: Readonly<Record<string, unknown>>, name: string): unknown[] {
  const parts: unknown[] = [];
  while (Object.hasOwn(attributes, `${name}${parts.length}`)) parts.push(attributes[`${name}${parts.length}`]);
  return parts;
}
