import { RematError } from "@remat/trace";
import { type DataType, type Tensor, tensor } from "@tensorflow/tfjs-core";
import { type Hdf5Object, openFile } from "./hdf5/open-file.js";
import type { StoredArray } from "./stored-weights.js";

/** The first bytes of every HDF5 file. */
const signature = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];

/** Returns whether bytes are an HDF5 file. */
export function isHdf5(bytes: Uint8Array): boolean {
  return signature.every((byte, i) => bytes[i] === byte);
}

/**
 * Opens an HDF5 file, and runs `read` on its root.
 *
 * @throws RematError `KERAS_WEIGHTS_FILE` if the file is damaged or of an unsupported kind
 */
export function readingHdf5<T>(bytes: Uint8Array, from: string, read: (root: Hdf5Object) => T): T {
  return reading(from, () => {
    if (bytes.length === 0) throw new Error("it is empty");
    return read(openFile(bytes));
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
      `${from}: cut short, or not an HDF5 file of Keras (${why}). Save the model or its weights again in Keras, and copy the whole file.`,
      { cause },
    );
  }
}

/** Returns the groups of a group, by name. */
export function groupsOf(group: Hdf5Object): ReadonlyMap<string, Hdf5Object> {
  const all = group.keys.map((key) => [key, group.get(key)] as const);
  return new Map(all.filter(([, { isArray }]) => !isArray));
}

/** Returns the array of a group at `path`. */
export function arrayOf(group: Hdf5Object, path: string, name: string, from: string): StoredArray {
  const found = group.get(path);
  if (!found.isArray) throw new Error(`${name} is not an array`);
  const { shape } = found;
  return {
    name,
    shape,
    read: (dtype: DataType): Tensor => reading(`${from}: ${name}`, () => tensor(valuesOf(found, dtype), shape, dtype)),
  };
}

/** Returns the numbers in the array type that TensorFlow.js uses for a dtype. */
function valuesOf(array: Hdf5Object, dtype: DataType): Float32Array | Int32Array | Uint8Array {
  const numbers = array.numbers();
  if (dtype === "int32") return Int32Array.from(numbers);
  if (dtype === "bool") return Uint8Array.from(numbers);
  return numbers instanceof Float32Array ? numbers : Float32Array.from(numbers);
}

/** Returns an attribute. Keras splits long ones into `weight_names0`, `weight_names1`, … */
export function attributeOf({ attrs }: Hdf5Object, name: string): string | readonly string[] | undefined {
  const parts = attrs.has(name) ? [attrs.get(name)] : partsOf(attrs, name);
  if (parts.length === 0) return undefined;
  if (parts.every((part) => typeof part === "string")) return parts.join("");
  // h5py writes an empty list as numbers.
  return parts.flat().flatMap((part) => (typeof part === "string" ? [part] : []));
}

function partsOf(attributes: ReadonlyMap<string, unknown>, name: string): unknown[] {
  const parts: unknown[] = [];
  while (attributes.has(`${name}${parts.length}`)) parts.push(attributes.get(`${name}${parts.length}`));
  return parts;
}
