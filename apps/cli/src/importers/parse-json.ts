import { gunzipSync } from "node:zlib";
import { parseJsonText, RematError } from "@remat/trace";
import { readModelFile } from "./read-model-file.js";

/**
 * Reads a JSON file. A name ending in `.gz` means that it is compressed.
 *
 * @throws RematError `MODEL_JSON`
 */
export function parseJson(path: string): unknown {
  const bytes = readModelFile(path);
  try {
    return parseJsonText((path.endsWith(".gz") ? unzipped(path, bytes) : bytes).toString("utf8"));
  } catch (cause) {
    if (cause instanceof RematError) throw cause;
    throw new RematError(
      "MODEL_JSON",
      `${path}: not JSON (${(cause as Error).message}). It may be cut short. Name a whole file: ` +
        "a model of tfjs-layers or Keras, a PyTorch run, a graph or a plan.",
      { cause },
    );
  }
}

/** A few kilobytes of gzip data can expand to gigabytes. */
const mostUnzipped = 2 ** 28;

function unzipped(path: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: mostUnzipped, chunkSize: 1 << 20 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_BUFFER_TOO_LARGE") throw cause;
    throw new RematError(
      "MODEL_JSON",
      `${path}: it unpacks to more than ${mostUnzipped / 2 ** 20} MiB. If you trust the file, unpack it with gunzip first.`,
      { cause },
    );
  }
}
