import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { isObject, type JsonObject, show } from "./json.js";
import { label } from "./layer-note.js";

/** Fields of a wrapper's configuration that contain layers. */
export const innerLayerFields: readonly string[] = ["layer", "cell", "cells"];

/**
 * Rejects activity regularizers other than Keras' own. Also rejects activity regularizers of a layer in a wrapper:
 * depending on shapes, Keras applies them for each step or for all steps together.
 */
export function checkPenalties(className: string, name: string, config: JsonObject): void {
  const regularizer = config["activity_regularizer"];
  if (regularizer != null && !(isObject(regularizer) && regularizer["class_name"] === "L1L2"))
    throw refused(className, name, `the activity regularizer ${show(regularizer)}, expected L1, L2 or L1L2`);
  for (const field of innerLayerFields)
    for (const inner of [config[field]].flat())
      if (isObject(inner) && isObject(inner["config"]) && inner["config"]["activity_regularizer"] != null)
        throw refused(className, name, `an activity regularizer in its ${field}, which is not supported`);
}

function refused(className: string, name: string, what: string): RematError {
  return new RematError(
    "KERAS_OPTION_UNSUPPORTED",
    `${sentenceStart(label({ name, className }))} has ${what}. ` +
      "Add an ActivityRegularization layer after it in Keras and export the model again.",
  );
}
