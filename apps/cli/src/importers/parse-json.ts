import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { RematError } from "@remat/trace";

/**
 * Reads a JSON file, zipped where its name ends in `.gz`.
 *
 * @throws RematError `MODEL_JSON`
 */
export function parseJson(path: string): unknown {
  const bytes = readFileSync(path);
  try {
    return JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
  } catch (cause) {
    throw new RematError(
      "MODEL_JSON",
      `${path}: not JSON (${(cause as Error).message}). Expected a file as tfjs-layers or Keras writes it.`,
      { cause },
    );
  }
}
