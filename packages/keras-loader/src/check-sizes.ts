import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { type JsonObject, show } from "./json.js";
import { label } from "./layer-note.js";

/** Options that say how far a window goes or how large it is: tfjs-layers computes shapes of NaN with some that are none. */
const windowOptions = ["strides", "kernel_size", "pool_size", "dilation_rate", "size"];

const windowClasses =
  /^((Separable|Depthwise)?Conv[123]D(Transpose)?|ConvLSTM[123]D|LocallyConnected[12]D|(Max|Average)Pooling[123]D|UpSampling[123]D)$/;

/** Shapes of inputs, in any layer that begins a model. */
const shapeOptions = ["batch_shape", "batch_input_shape", "input_shape"];

/** Refuses strides, windows and factors that are no whole numbers of at least 1, and shapes of inputs with others than these and unknown ones. */
export function checkSizes(className: string, name: string, config: JsonObject): void {
  const refuse = (field: string, expected: string): never => {
    throw new RematError(
      "KERAS_SIZE_WRONG",
      `${sentenceStart(label({ name, className }))} has ${field}: ${show(config[field])}, expected ${expected}. ` +
        "Change that layer in Keras and export the model again.",
    );
  };
  for (const field of shapeOptions) {
    const shape = config[field];
    if (Array.isArray(shape) && !shape.every((size) => size === null || isSize(size)))
      refuse(field, "whole numbers of at least 1, or null where a size is not known");
  }
  if (!windowClasses.test(className)) return;
  for (const field of windowOptions) {
    const value = config[field];
    // Keras writes null for strides that are those of the window.
    if (value === undefined || value === null) continue;
    const sizes: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (sizes.length === 0 || !sizes.every(isSize)) refuse(field, "whole numbers of at least 1");
  }
}

/** Tells whether a JSON value can be a size: a tensor of none has nothing to compute. */
export const isSize = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;
