import { constants } from "node:buffer";
import { gunzipSync } from "node:zlib";
import { parseJsonText, RematError } from "@remat/trace";
import { readModelFile } from "./read-model-file.js";

/**
 * Reads a JSON file, zipped where its name ends in `.gz`: as long as a string can be, since some kilobytes of gzip data hold gigabytes.
 *
 * @throws RematError `MODEL_JSON`
 */
export function parseJson(path: string): unknown {
  const bytes = readModelFile(path);
  try {
    const text = path.endsWith(".gz") ? gunzipSync(bytes, { maxOutputLength: constants.MAX_STRING_LENGTH }) : bytes;
    return parseJsonText(text.toString("utf8"));
  } catch (cause) {
    throw new RematError(
      "MODEL_JSON",
      `${path}: not JSON (${(cause as Error).message}). Expected a model as tfjs-layers or Keras writes it, a run of PyTorch, a graph or a plan, whole.`,
      { cause },
    );
  }
}
