import { parseJsonText } from "@remat/trace";
import { isObject, type JsonObject } from "../json.js";

/**
 * Training configuration of a file: Keras 2's `training_config`, Keras 3's `compile_config`, or that of tfjs-layers.
 */
export interface Compilation {
  readonly optimizer: unknown;
  readonly loss: unknown;
  readonly lossWeights: unknown;
  /** The configuration that tfjs-layers wrote, in its own format. Undefined for a file from Keras. */
  readonly ofTfjs?: JsonObject;
}

/** Reads the training configuration among the fields of a file. Undefined if not found. */
export function readCompilation(file: JsonObject): Compilation | undefined {
  for (const field of ["training_config", "compile_config", "trainingConfig"]) {
    const config = typeof file[field] === "string" ? parse(file[field]) : file[field];
    if (!isObject(config)) continue;
    const optimizer = config["optimizer_config"] ?? config["optimizer"];
    if (config["loss"] == null || optimizer == null) continue;
    const read = { optimizer, loss: config["loss"], lossWeights: config["loss_weights"] };
    return field === "trainingConfig" ? { ...read, ofTfjs: config } : read;
  }
  return undefined;
}

function parse(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}
