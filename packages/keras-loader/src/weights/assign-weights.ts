import { RematError } from "@remat/trace";
import type { LayersModel } from "@tensorflow/tfjs-layers";
import { variableOf } from "../layers/layer-variable.js";
import type { Match } from "./match.js";
import { matchLayers } from "./match-layers.js";
import { matchNames } from "./match-names.js";
import { matchObjects } from "./match-objects.js";
import type { KerasWeights } from "./stored-weights.js";
import type { FileLayer, WeightedLayer } from "./weighted-layer.js";

/**
 * Assigns every weight of a model its value from a file. If that fails, the model's weights are disposed of, since it
 * was just built and has no other user.
 *
 * @throws RematError `KERAS_WEIGHTS_…`, naming the file, the layer, and what was expected
 */
export function assignWeights(model: LayersModel, file: FileLayer, weights: KerasWeights): void {
  try {
    for (const { weight, array } of matchWeights({ layer: model, file }, weights)) {
      // LayerVariable.write would apply the constraint, which Keras does only after an update.
      const variable = variableOf(weight);
      const value = array.read(variable.dtype);
      variable.assign(value);
      value.dispose();
    }
  } catch (cause) {
    for (const weight of new Set(model.weights)) weight.dispose();
    throw cause instanceof RematError
      ? new RematError(cause.code, `${weights.from}: ${cause.message}`, { cause })
      : cause;
  }
}

function matchWeights(model: WeightedLayer, weights: KerasWeights): readonly Match[] {
  switch (weights.layout) {
    case "objects":
      return matchObjects(model, weights.root, "");
    case "layers":
      return matchLayers(model, weights.layers);
    case "names":
      return matchNames(model, weights.arrays);
  }
}
