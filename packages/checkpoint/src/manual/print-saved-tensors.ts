import { formatTable } from "@remat/trace/text";
import type { Tensor } from "@tensorflow/tfjs-core";
import { type SavedTensor, type SavedTensorsOptions, savedTensors } from "./saved-tensors.js";

/** Options of `printSavedTensors`. */
export interface PrintSavedTensorsOptions extends SavedTensorsOptions {
  /** Receives the text. Default: `console.log`. */
  readonly print?: (text: string) => void;
}

/**
 * Prints the tensors that autograd saves for the backward pass of `fn`, by buffer: shape, bytes, the op that made it,
 * and the ops whose gradients need it. Corresponds to JAX's `print_saved_residuals`.
 *
 * @throws RematError `NO_GRADIENT` if the result of `fn` does not depend on any of `xs`
 * @example
 * printSavedTensors(() => tf.losses.softmaxCrossEntropy(labels, model.apply(x, { training: true })), { model });
 */
export function printSavedTensors(fn: () => Tensor, options: PrintSavedTensorsOptions = {}): void {
  // oxlint-disable-next-line no-console -- printing is what it is for
  const { print = console.log, ...rest } = options;
  print(formatSavedTensors(savedTensors(fn, rest)));
}

/** Returns the list as a table, preceded by the total of saved bytes without weights and data. */
export function formatSavedTensors(held: readonly SavedTensor[]): string {
  const made = held.filter(({ origin }) => origin === "op");
  const bytes = made.reduce((sum, tensor) => sum + tensor.bytes, 0);
  const rows = held.map((tensor) => [
    `${tensor.dtype} [${tensor.shape.join(", ")}]`,
    String(tensor.bytes),
    origins[tensor.origin](tensor),
    [...new Set(tensor.savedFor.map(({ op, module }) => inModule(op, module)))].join(", "),
  ]);
  const title = `${bytes} bytes in ${made.length} buffers are held for the backward pass, besides weights and data`;
  return `${title}\n${formatTable(rows, { headers: ["Tensor", "Bytes", "Origin", "Saved for"] })}`;
}

const inModule = (name: string, module: string | undefined): string =>
  module === undefined ? name : `${name} in ${module}`;

const origins: Record<SavedTensor["origin"], (tensor: SavedTensor) => string> = {
  op: ({ madeBy = "an op", module }) => inModule(madeBy, module),
  weight: ({ madeBy }) => `weight ${madeBy}`,
  data: () => "data",
};
