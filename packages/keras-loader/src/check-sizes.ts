import { RematError } from "@remat/trace";
import { sentenceStart } from "./check-options.js";
import { type JsonObject, show } from "./json.js";
import { label } from "./layer-note.js";

/** Options with the size or the stride of a window. tfjs-layers computes NaN shapes for some invalid values. */
const windowOptions = ["strides", "kernel_size", "pool_size", "dilation_rate", "size"];

const windowClasses =
  /^((Separable|Depthwise)?Conv[123]D(Transpose)?|ConvLSTM[123]D|LocallyConnected[12]D|(Max|Average)Pooling[123]D|UpSampling[123]D)$/;

/** Shapes of inputs, in any layer that begins a model. */
const shapeOptions = ["batch_shape", "batch_input_shape", "input_shape"];

/**
 * Rejects strides, windows and factors that are not whole numbers of at least 1, and input shapes with other sizes than
 * these or null.
 */
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
      refuse(field, "whole numbers of at least 1, or null for an unknown size");
  }
  if (!windowClasses.test(className)) return;
  for (const field of windowOptions) {
    const value = config[field];
    // Keras writes null if the strides equal the window.
    if (value === undefined || value === null) continue;
    const sizes: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (sizes.length === 0 || !sizes.every(isSize)) refuse(field, "whole numbers of at least 1");
  }
}

/** Returns whether a JSON value can be a size. A tensor of size 0 has nothing to compute. */
export const isSize = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;
