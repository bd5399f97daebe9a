import { elementsOf, RematError } from "@remat/trace";
import { cast, type DataType, io, type Tensor } from "@tensorflow/tfjs-core";
import { isObject } from "../json.js";
import type { KerasWeights, StoredArray } from "./stored-weights.js";

/** One group of a manifest. Its arrays follow each other in its concatenated files. */
export interface WeightsGroup {
  /** Paths of the files. */
  readonly paths: readonly string[];
  /** The weights in the group, in order. */
  readonly weights: readonly io.WeightsManifestEntry[];
  /** Total size of the weights, and so of the files, in bytes. */
  readonly bytes: number;
}

/** Bytes per number. */
const numberBytes: Readonly<Record<string, number>> = {
  float32: 4,
  int32: 4,
  bool: 1,
  uint8: 1,
  uint16: 2,
  float16: 2,
};

/**
 * Returns the groups of weight files in a tfjs-layers `model.json`. Empty without a manifest. Names, shapes and dtypes
 * are checked, so no allocation depends on unchecked values.
 *
 * @throws RematError `KERAS_WEIGHTS_FILE` for an invalid manifest
 */
export function weightsManifest(modelJson: object): readonly WeightsGroup[] {
  const { weightsManifest: groups = [] } = modelJson as { readonly weightsManifest?: unknown };
  const isGroup = (group: unknown): group is Pick<WeightsGroup, "paths" | "weights"> =>
    isObject(group) && [group["paths"], group["weights"]].every(Array.isArray);
  if (!Array.isArray(groups) || !groups.every(isGroup))
    throw refusal("weightsManifest is not a list of groups with `paths` and `weights`");
  return groups.map(({ paths, weights }) => ({
    paths,
    weights,
    bytes: weights.reduce((sum, entry, i) => sum + bytesOf(checkedEntry(entry, i)), 0),
  }));
}

/** Returns a short text of a value in the file, for messages. */
const excerpt = (value: unknown): string => (JSON.stringify(value) ?? "undefined").slice(0, 80);

function refusal(what: string): RematError {
  return new RematError("KERAS_WEIGHTS_FILE", `${what}. Convert the model again with tensorflowjs_converter.`);
}

function checkedEntry(entry: unknown, i: number): io.WeightsManifestEntry {
  if (!isObject(entry) || typeof entry["name"] !== "string") throw refusal(`weight ${i} of the manifest has no name`);
  const { name, shape, quantization } = entry;
  const where = `weight ${excerpt(name)} of the manifest`;
  const isSize = (size: unknown): boolean => Number.isSafeInteger(size) && (size as number) >= 0;
  if (!Array.isArray(shape) || !shape.every(isSize) || !Number.isSafeInteger(8 * elementsOf(shape as number[])))
    throw refusal(`${where} has the shape ${excerpt(shape)}, expected a list of sizes`);
  const isScale = (value: unknown): boolean =>
    value === undefined || (typeof value === "number" && Number.isFinite(value));
  if (
    quantization !== undefined &&
    (!isObject(quantization) || !isScale(quantization["scale"]) || !isScale(quantization["min"]))
  )
    throw refusal(
      `${where} has the quantization ${excerpt(quantization)}, expected a dtype with a scale and a minimum`,
    );
  return entry as unknown as io.WeightsManifestEntry;
}

/**
 * Reads the list of weights in a tfjs-layers `model.json`.
 *
 * @param read returns the bytes of a file of the manifest
 * @throws RematError `KERAS_WEIGHTS_FILE` if a file is shorter or longer than the manifest declares
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
        `${paths.join(", ")}: ${bytes.length} bytes, expected ${offset} for the manifest's ${weights.length} ` +
          "weights. Copy the whole files, or convert the model again with tensorflowjs_converter.",
      );
    return ofGroup;
  });
  return { from: "the weight files of model.json", layout: "names", arrays };
}

function bytesOf({ name, shape, dtype, quantization }: io.WeightsManifestEntry): number {
  const stored: unknown = quantization?.dtype ?? dtype;
  if (typeof stored === "string" && Object.hasOwn(numberBytes, stored)) return numberBytes[stored]! * elementsOf(shape);
  throw refusal(
    `weight ${name} of the manifest has dtype ${typeof stored === "string" ? stored.slice(0, 80) : excerpt(stored)}, ` +
      `expected one of ${Object.keys(numberBytes).join(", ")}`,
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
