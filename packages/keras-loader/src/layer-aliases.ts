import { isObject, type JsonObject, ownField } from "./json.js";

/** Names that Keras has changed since tfjs-layers was written: class of an initializer or regularizer, activation, option. */
const classAliases: Readonly<Record<string, string>> = {
  OrthogonalInitializer: "Orthogonal",
  IdentityInitializer: "Identity",
  LecunNormal: "LeCunNormal",
  LecunUniform: "LeCunUniform",
};

const activationAliases: Readonly<Record<string, string>> = { silu: "swish" };

/**
 * Writes one layer's configuration in the older words that tfjs-layers knows. What it means stays the same: `silu` is `swish`, an `L2`
 * regularizer is an `L1L2` with one part, a normalisation over the axes `[3]` is one over the axis 3.
 */
export function applyAliases(className: string, config: JsonObject): void {
  if (className === "InputLayer" && config["batch_input_shape"] == null && config["batch_shape"] != null) {
    config["batch_input_shape"] = config["batch_shape"];
  }
  if (config["batch_shape"] !== undefined && className !== "InputLayer") {
    config["batch_input_shape"] = config["batch_shape"];
  }
  delete config["batch_shape"];
  if (className === "LeakyReLU" && config["alpha"] === undefined && config["negative_slope"] !== undefined) {
    config["alpha"] = config["negative_slope"];
  }
  const axis = config["axis"];
  if (className === "BatchNormalization" && Array.isArray(axis) && axis.length === 1) config["axis"] = axis[0];
  for (const [field, value] of Object.entries(config)) {
    if (typeof value === "string" && field.endsWith("activation"))
      config[field] = ownField(activationAliases, value) ?? value;
    if (isObject(value) && typeof value["class_name"] === "string") config[field] = renameClass(value);
  }
}

function renameClass(object: JsonObject): JsonObject {
  const name = object["class_name"] as string;
  const config = isObject(object["config"]) ? object["config"] : {};
  if (name === "L1") return { class_name: "L1L2", config: { l1: config["l1"], l2: 0 } };
  if (name === "L2") return { class_name: "L1L2", config: { l1: 0, l2: config["l2"] } };
  const known = ownField(classAliases, name);
  return known === undefined ? object : { ...object, class_name: known };
}
