import { RematError } from "@remat/trace";
import { strFromU8, unzipSync } from "fflate";

/** As much as a topology is allowed to be: some kilobytes of a zip file can hold gigabytes. */
const maxTopologyBytes = 256 * 1024 * 1024;

/** The file of a `.keras` archive that holds the topology. */
const topologyFile = "config.json";

/** Tells whether bytes are those of a zip file, as a `.keras` archive is. */
export function isArchive(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b;
}

/**
 * Returns the text of the topology in a `.keras` archive; nothing else of it is unpacked.
 *
 * @throws RematError `KERAS_ARCHIVE`
 */
export function readArchive(bytes: Uint8Array): string {
  let found: Record<string, Uint8Array>;
  try {
    found = unzipSync(bytes, {
      filter({ name, originalSize }) {
        if (name !== topologyFile) return false;
        if (originalSize > maxTopologyBytes)
          throw broken(`its ${topologyFile} is of ${originalSize} bytes, expected at most ${maxTopologyBytes}`);
        return true;
      },
    });
  } catch (cause) {
    throw cause instanceof RematError ? cause : broken((cause as Error).message, cause);
  }
  const topology = found[topologyFile];
  if (topology === undefined) throw broken(`it holds no ${topologyFile}`);
  return strFromU8(topology);
}

function broken(what: string, cause?: unknown): RematError {
  return new RematError(
    "KERAS_ARCHIVE",
    `The .keras archive cannot be read: ${what}. Save the model again with Keras' model.save("model.keras").`,
    { cause },
  );
}
