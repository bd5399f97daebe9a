import { RematError } from "@remat/trace";
import { strFromU8 } from "fflate";
import { readZipFile } from "./read-zip-file.js";

/** Maximum size of a topology, since a few kilobytes of a zip file can contain gigabytes. */
const maxTopologyBytes = 256 * 1024 * 1024;

/** The file of a `.keras` archive with the topology. */
const topologyFile = "config.json";

/** Returns whether bytes are a zip file, such as a `.keras` archive. */
export function isArchive(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b;
}

/** The file of a `.keras` archive with the weights. */
const weightsFile = "model.weights.h5";
/** Maximum size of that file, which is unpacked into one array. */
const maxWeightsBytes = 2 ** 32;

/**
 * Returns the text of the topology in a `.keras` archive. Nothing else is unpacked.
 *
 * @throws RematError `KERAS_ARCHIVE`
 */
export function readArchive(bytes: Uint8Array): string {
  return strFromU8(unpack(bytes, topologyFile, maxTopologyBytes));
}

/**
 * Returns the HDF5 file with the weights in a `.keras` archive. Nothing else is unpacked.
 *
 * @throws RematError `KERAS_ARCHIVE`
 */
export function readArchiveWeights(bytes: Uint8Array): Uint8Array {
  return unpack(bytes, weightsFile, maxWeightsBytes);
}

function unpack(bytes: Uint8Array, wanted: string, maxBytes: number): Uint8Array {
  let file: Uint8Array | undefined;
  try {
    file = readZipFile(bytes, wanted, maxBytes);
  } catch (cause) {
    throw broken((cause as Error).message, cause);
  }
  if (file === undefined) throw broken(`it has no ${wanted}`);
  return file;
}

function broken(what: string, cause?: unknown): RematError {
  return new RematError(
    "KERAS_ARCHIVE",
    `The .keras archive cannot be read: ${what}. Save the model again with Keras' model.save("model.keras").`,
    { cause },
  );
}
