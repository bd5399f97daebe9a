import type { KerasWeights } from "@remat/keras-loader/weights";
import { RematError } from "@remat/trace";
import { namingFile } from "./naming-file.js";
import { parseJson } from "./parse-json.js";
import { readModelFile } from "./read-model-file.js";
import { WeightFiles } from "./weight-files.js";

/** A file of Keras or tfjs-layers that may have a topology, weights, or both. */
export interface KerasFile {
  /** Returns the topology for `loadKerasModel`. */
  topology(): object;
  /** Returns the weights, or undefined if none exist. */
  readWeights(onNote: (note: string) => void): Promise<KerasWeights | undefined>;
}

/** Weights are read by a separate module, which is loaded only if needed. */
const weightsModule = () => import("@remat/keras-loader/weights");

/**
 * Reads a file without the values of its weights.
 *
 * @throws RematError `MODEL_JSON`, `MODEL_UNREADABLE`; the returned functions throw `KERAS_…`
 */
export async function readKerasFile(path: string): Promise<KerasFile> {
  if (path.endsWith(".json")) {
    const json = parseJson(path) as object;
    return { topology: () => json, readWeights: (onNote) => readManifest(path, json, onNote) };
  }
  const bytes = readModelFile(path);
  const readWeights = async (): Promise<KerasWeights> => {
    const { readKerasWeights } = await weightsModule();
    return namingFile(path, () => readKerasWeights(bytes));
  };
  if (!/\.(h5|hdf5)$/.test(path)) return { topology: () => bytes, readWeights };
  const { readHdf5Topology } = await weightsModule();
  return { topology: () => readHdf5Topology(bytes), readWeights };
}

/** Reads the weight files of a `model.json`, which is often distributed without them. */
async function readManifest(
  path: string,
  json: object,
  onNote: (note: string) => void,
): Promise<KerasWeights | undefined> {
  const { readManifestWeights, weightsManifest } = await weightsModule();
  return namingFile(path, () => {
    const refuse = (what: string) => new RematError("KERAS_WEIGHTS_FILE", `${what}.`);
    const files = new WeightFiles(path, weightsManifest(json), refuse);
    const { names, missing } = files;
    if (missing.length === 0 && names.length > 0) {
      files.checkSizes();
      return readManifestWeights(json, (name) => files.read(name));
    }
    if (missing.length < names.length)
      throw refuse(
        `${missing.length} of its ${names.length} weight files are not beside it: ` +
          `${missing.slice(0, 10).join(", ")}${missing.length > 10 ? ", …" : ""}. ` +
          "Copy them there, or remove the rest to use initial weights",
      );
    if (names.length > 0) onNote(`its weight files are not beside it (${names[0]}): weights have their initial values`);
    return undefined;
  });
}
