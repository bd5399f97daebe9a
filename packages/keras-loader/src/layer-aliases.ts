import { isObject, type JsonObject, ownField } from "./json.js";

/**
 * Names that Keras has changed since tfjs-layers was written: classes of initializers and regularizers, activations,
 * options.
 */
const classAliases: Readonly<Record<string, string>> = {
  OrthogonalInitializer: "Orthogonal",
  IdentityInitializer: "Identity",
  LecunNormal: "LeCunNormal",
  LecunUniform: "LeCunUniform",
};

/** SELU of tfjs-layers has another gradient at 0. */
const activationAliases: Readonly<Record<string, string>> = { silu: "swish", selu: "selu_of_keras" };

/** Names that mean one function in Keras 3 and another in Keras 2 and tfjs-layers. */
const keras3Activations: Readonly<Record<string, string>> = { hard_sigmoid: "hard_sigmoid_of_keras3" };

/**
 * Rewrites a layer's configuration in the older names of tfjs-layers, with the same meaning. For example, `silu`
 * becomes `swish`, an `L2` regularizer becomes an `L1L2` with one part, and a normalization over the axes `[3]` becomes
 * one over axis 3.
 */
export function applyAliases(className: string, config: JsonObject, isKeras3: boolean): void {
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
  // Keras 2 writes options of a regular convolution's kernel, but a separable one has two other kernels.
  if (/^(Separable|Depthwise)Conv[12]D$/.test(className))
    for (const field of ["kernel_initializer", "kernel_regularizer", "kernel_constraint"]) delete config[field];
  const axis = config["axis"];
  if (className === "BatchNormalization" && Array.isArray(axis) && axis.length === 1) config["axis"] = axis[0];
  for (const [field, value] of Object.entries(config)) {
    if (field.endsWith("activation")) config[field] = renameActivation(value, isKeras3);
    else if (isObject(value) && typeof value["class_name"] === "string") config[field] = renameClass(value);
  }
}

/** Keras 3 writes a function by its name, or as an object with the name. */
function renameActivation(value: unknown, isKeras3: boolean): unknown {
  const name = isObject(value) && value["class_name"] === "function" ? value["config"] : value;
  if (typeof name !== "string") return value;
  return (isKeras3 ? ownField(keras3Activations, name) : undefined) ?? ownField(activationAliases, name) ?? name;
}

function renameClass(object: JsonObject): JsonObject {
  const name = object["class_name"] as string;
  const config = isObject(object["config"]) ? object["config"] : {};
  if (name === "L1") return { class_name: "L1L2", config: { l1: config["l1"], l2: 0 } };
  if (name === "L2") return { class_name: "L1L2", config: { l1: 0, l2: config["l2"] } };
  const known = ownField(classAliases, name);
  return known === undefined ? object : { ...object, class_name: known };
}
