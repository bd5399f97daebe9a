import { RematError } from "@remat/trace";
import { isObject, type JsonObject, show } from "./json.js";
import { label } from "./layer-note.js";

/** An option that tfjs-layers 4.22 ignores. Any other value would silently compute something else. */
interface IgnoredOption {
  readonly classes: RegExp;
  readonly field: string;
  readonly accepted: readonly unknown[];
  readonly reason: string;
}

const ignoredOptions: readonly IgnoredOption[] = [
  {
    classes: /^(SeparableConv[123]D|Conv[123]DTranspose)$/,
    field: "groups",
    accepted: [1],
    reason: "it has no grouped convolution",
  },
  { classes: /^BatchNormalization$/, field: "renorm", accepted: [false], reason: "it has no batch renormalisation" },
  { classes: /^LayerNormalization$/, field: "rms_scaling", accepted: [false], reason: "it has no RMS scaling" },
  {
    classes: /^(SimpleRNN|LSTM|GRU|RNN|ConvLSTM[123]D)$/,
    field: "time_major",
    accepted: [false],
    reason: "it is batch-major only",
  },
  { classes: /./, field: "lora_rank", accepted: [], reason: "it has no LoRA" },
  { classes: /./, field: "quantization_config", accepted: [], reason: "it has no quantised layers" },
  { classes: /^InputLayer$/, field: "sparse", accepted: [false], reason: "it has no sparse tensors" },
  { classes: /^InputLayer$/, field: "ragged", accepted: [false], reason: "it has no ragged tensors" },
];

/** Rejects options for which tfjs-layers would silently compute something else than Keras. */
export function checkOptions(className: string, name: string, config: JsonObject): void {
  for (const { classes, field, accepted, reason } of ignoredOptions) {
    const value = config[field];
    if (value === undefined || value === null || !classes.test(className) || accepted.includes(value)) continue;
    throw new RematError(
      "KERAS_OPTION_UNSUPPORTED",
      `${sentenceStart(label({ name, className }))} has ${field}: ${show(value)}, which tfjs-layers would ignore: ${reason}. ` +
        "Rebuild the model in Keras without that option, or register your own class under this class name.",
    );
  }
  config["dtype"] = understandDtype(className, name, config["dtype"]);
}

/** Supported dtypes of inputs, with their names in TensorFlow.js. */
const inputDtypes: Readonly<Record<string, string>> = {
  float32: "float32",
  int64: "int32",
  int32: "int32",
  int16: "int32",
  int8: "int32",
  uint8: "int32",
  bool: "bool",
};

/** Other floating-point dtypes, which tfjs-layers replaces by float32. */
const otherFloats: readonly unknown[] = ["float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16"];

/** Returns a layer's dtype in Keras if it is a floating-point dtype other than float32. */
export function otherFloat({ dtype }: JsonObject): string | undefined {
  const policy = policyName(dtype);
  return otherFloats.includes(policy) ? (policy as string) : undefined;
}

/** Returns the name of a dtype or of a policy object (Keras 2: `Policy`, Keras 3: `DTypePolicy`). */
function policyName(dtype: unknown): unknown {
  return isObject(dtype) && isObject(dtype["config"]) ? dtype["config"]["name"] : dtype;
}

/** tfjs-layers computes in float32 only. */
function understandDtype(className: string, name: string, dtype: unknown): string | undefined {
  if (dtype === undefined || dtype === null) return undefined;
  const policy = policyName(dtype);
  if (otherFloats.includes(policy)) return "float32";
  const accepted = /^(InputLayer|Embedding|Discretization|CategoryEncoding)$/.test(className)
    ? inputDtypes
    : { float32: "float32" };
  const known =
    typeof policy === "string" && Object.hasOwn(accepted, policy)
      ? (accepted as Record<string, string>)[policy]
      : undefined;
  if (known !== undefined) return known;
  throw new RematError(
    "KERAS_DTYPE_UNSUPPORTED",
    `${sentenceStart(label({ name, className }))} has the dtype ${show(policy)}, and tfjs-layers supports only ${Object.keys(accepted).join(", ")}. ` +
      "Rebuild the model in Keras with the policy 'float32'.",
  );
}

/** Returns the text with its first letter in upper case. */
export function sentenceStart(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
