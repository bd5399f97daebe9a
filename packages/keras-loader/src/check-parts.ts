import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { isObject, type JsonObject } from "./json.js";
import { isModelClass, label } from "./layer-note.js";

const partFields = /(initializer|regularizer|constraint|activation)$/;

/** Refuses a model in the place of an initializer and the like: tfjs-layers would make it, and wait for ever on a graph that nobody has read. */
export function checkParts(className: string, name: string, config: JsonObject): void {
  for (const [field, value] of Object.entries(config)) {
    const model = partFields.test(field) ? modelIn(value) : undefined;
    if (model === undefined) continue;
    throw new RematError(
      "KERAS_LAYER_REFUSED",
      `${sentenceStart(label({ name, className }))} has a ${model} in its ${field}, expected no model there. ` +
        "Change that layer in Keras and export the model again.",
    );
  }
}

/** Returns the class of the first model that a value has in it. */
function modelIn(value: unknown): string | undefined {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (isObject(next) && typeof next["class_name"] === "string" && isModelClass(next["class_name"]))
      return next["class_name"];
    // One by one: a constant may be a list of any length.
    if (typeof next === "object" && next !== null) for (const item of Object.values(next)) waiting.push(item);
  }
  return undefined;
}
