import { elementsOf, RematError } from "@remat/trace";
import { cast, type DataType, io, type Tensor } from "@tensorflow/tfjs-core";
import { isObject } from "../json.js";
import type { KerasWeights, StoredArray } from "./stored-weights.js";

/** One group of a manifest: its arrays lie one after another in the files, put together. */
export interface WeightsGroup {
  readonly paths: readonly string[];
  readonly weights: readonly io.WeightsManifestEntry[];
}

/** Bytes of one number. */
const numberBytes: Readonly<Record<string, number>> = {
  float32: 4,
  int32: 4,
  bool: 1,
  uint8: 1,
  uint16: 2,
  float16: 2,
};

/**
 * Returns the groups of weight files that a `model.json` of tfjs-layers names; none where it has no manifest.
 *
 * @throws RematError `KERAS_WEIGHTS_FILE` for one that is no manifest
 */
export function weightsManifest(modelJson: object): readonly WeightsGroup[] {
  const { weightsManifest: groups = [] } = modelJson as { readonly weightsManifest?: unknown };
  const isGroup = (group: unknown): group is WeightsGroup =>
    isObject(group) && [group["paths"], group["weights"]].every(Array.isArray);
  if (Array.isArray(groups) && groups.every(isGroup)) return groups;
  throw new RematError(
    "KERAS_WEIGHTS_FILE",
    "weightsManifest is no list of groups with `paths` and `weights`. Convert the model again with tensorflowjs_converter.",
  );
}

/**
 * Reads which weights a `model.json` of tfjs-layers has; `read` returns the bytes of a file that it names.
 *
 * @throws RematError `KERAS_WEIGHTS_FILE` where a file is shorter or longer than the manifest says
 * @example
 * const weights = readManifestWeights(modelJson, (path) => readFileSync(join(folder, path)));
 * const model = loadKerasModel(modelJson, { weights });
 */
export function readManifestWeights(modelJson: object, read: (path: string) => Uint8Array): KerasWeights {
  const arrays = weightsManifest(modelJson).flatMap(({ paths, weights }) => {
    const bytes = concatenated(paths.map(read));
    let offset = 0;
    const ofGroup = weights.map((entry): StoredArray => {
      const start = offset;
      offset += bytesOf(entry);
      return { name: entry.name, shape: entry.shape, read: (dtype) => decode(bytes, start, entry, dtype) };
    });
    if (offset !== bytes.length)
      throw new RematError(
        "KERAS_WEIGHTS_FILE",
        `${paths.join(", ")}: ${bytes.length} bytes, expected ${offset} for the ${weights.length} weights of the manifest. Copy the files whole, or convert the model again with tensorflowjs_converter.`,
      );
    return ofGroup;
  });
  return { from: "the weight files of model.json", layout: "names", arrays };
}

function bytesOf({ name, shape, dtype, quantization }: io.WeightsManifestEntry): number {
  const size = numberBytes[quantization?.dtype ?? dtype];
  if (size !== undefined) return size * elementsOf(shape);
  throw new RematError(
    "KERAS_WEIGHTS_FILE",
    `weight ${name} of the manifest is of ${quantization?.dtype ?? dtype}, expected one of ${Object.keys(numberBytes).join(", ")}. Convert the model again with tensorflowjs_converter.`,
  );
}

function decode(bytes: Uint8Array, start: number, entry: io.WeightsManifestEntry, dtype: DataType): Tensor {
  const slice = bytes.slice(start, start + bytesOf(entry)).buffer as ArrayBuffer;
  const decoded = io.decodeWeights(slice, [entry])[entry.name] as Tensor;
  if (decoded.dtype === dtype) return decoded;
  const converted = cast(decoded, dtype);
  decoded.dispose();
  return converted;
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
