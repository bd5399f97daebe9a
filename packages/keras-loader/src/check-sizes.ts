import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { type JsonObject, show } from "./json.js";
import { label } from "./layer-note.js";

/** Options that say how far a window goes or how large it is: tfjs-layers computes shapes of NaN with some that are none. */
const windowOptions = ["strides", "kernel_size", "pool_size", "dilation_rate", "size"];

const windowClasses =
  /^((Separable|Depthwise)?Conv[123]D(Transpose)?|ConvLSTM[123]D|LocallyConnected[12]D|(Max|Average)Pooling[123]D|UpSampling[123]D)$/;

/** Refuses strides, windows and factors that are no whole numbers of at least 1. */
export function checkSizes(className: string, name: string, config: JsonObject): void {
  if (!windowClasses.test(className)) return;
  for (const field of windowOptions) {
    const value = config[field];
    // Keras writes null for strides that are those of the window.
    if (value === undefined || value === null) continue;
    const sizes: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (sizes.length > 0 && sizes.every((size) => Number.isInteger(size) && (size as number) > 0)) continue;
    throw new RematError(
      "KERAS_SIZE_WRONG",
      `${sentenceStart(label({ name, className }))} has ${field}: ${show(value)}, expected whole numbers of at least 1. ` +
        "Change that layer in Keras and export the model again.",
    );
  }
}
