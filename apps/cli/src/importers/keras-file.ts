import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KerasWeights } from "@remat/keras-loader/weights";
import { RematError } from "@remat/trace";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";

/** A file of Keras' or tfjs-layers' that may have a topology, weights, or both. */
export interface KerasFile {
  /** Returns what `loadKerasModel` takes. */
  topology(): object;
  /** Returns the weights; undefined where there are none. */
  readWeights(onNote: (note: string) => void): Promise<KerasWeights | undefined>;
}

/** What reads weights is a module of its own, which others need not load. */
const weightsModule = () => import("@remat/keras-loader/weights");

/**
 * Reads a file, but not what its weights are.
 *
 * @throws RematError `MODEL_JSON`, `MODEL_UNREADABLE`; its functions `KERAS_…`
 */
export async function readKerasFile(path: string): Promise<KerasFile> {
  if (path.endsWith(".json")) {
    const json = parseJson(path) as object;
    return { topology: () => json, readWeights: (onNote) => readManifest(path, json, onNote) };
  }
  const bytes = readBytes(path);
  const readWeights = async (): Promise<KerasWeights> => {
    const { readKerasWeights } = await weightsModule();
    return namingFile(path, () => readKerasWeights(bytes));
  };
  if (!/\.(h5|hdf5)$/.test(path)) return { topology: () => bytes, readWeights };
  const { readHdf5Topology } = await weightsModule();
  return { topology: () => readHdf5Topology(bytes), readWeights };
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new RematError(
      "MODEL_UNREADABLE",
      `${path}: cannot be read (${(cause as Error).message}). Name a file that you may read.`,
      { cause },
    );
  }
}

/** The weight files beside a `model.json`, which often comes without them. */
async function readManifest(
  path: string,
  json: object,
  onNote: (note: string) => void,
): Promise<KerasWeights | undefined> {
  const { readManifestWeights, weightsManifest } = await weightsModule();
  return namingFile(path, () => {
    const names = weightsManifest(json).flatMap((group) => group.paths);
    const pathOf = (name: string): string => join(dirname(path), name);
    const missing = names.filter((name) => !existsSync(pathOf(name)));
    if (missing.length === 0 && names.length > 0) return readManifestWeights(json, (name) => readBytes(pathOf(name)));
    if (missing.length < names.length)
      throw new RematError(
        "KERAS_WEIGHTS_FILE",
        `of its ${names.length} weight files ${missing.length} are not beside it: ${missing.join(", ")}. Copy them there, or remove the others for random weights.`,
      );
    if (names.length > 0)
      onNote(`its weight files are not beside it (${names[0]}): weights are what their initializers give`);
    return undefined;
  });
}
