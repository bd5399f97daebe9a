import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { isObject, type JsonObject } from "./json.js";
import { isModelClass, label } from "./layer-note.js";

const partFields = /(initializer|regularizer|constraint|activation)$/;

/**
 * Rejects a model in place of an initializer or the like. tfjs-layers would build it and wait forever for a graph that
 * was never read.
 */
export function checkParts(className: string, name: string, config: JsonObject): void {
  for (const [field, value] of Object.entries(config)) {
    const model = partFields.test(field) ? modelIn(value) : undefined;
    if (model === undefined) continue;
    throw new RematError(
      "KERAS_LAYER_REFUSED",
      `${sentenceStart(label({ name, className }))} has a ${model} in its ${field}, which is not supported. ` +
        "Change that layer in Keras and export the model again.",
    );
  }
}

/** Returns the class of the first model inside a value. */
function modelIn(value: unknown): string | undefined {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (isObject(next) && typeof next["class_name"] === "string" && isModelClass(next["class_name"]))
      return next["class_name"];
    // Added one by one, because a constant may be a list of any length.
    if (typeof next === "object" && next !== null) for (const item of Object.values(next)) waiting.push(item);
  }
  return undefined;
}
