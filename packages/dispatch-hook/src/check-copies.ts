import { RematError } from "@remat/trace";
import { Tensor } from "@tensorflow/tfjs-core";

/**
 * Returns the error `TFJS_COPIES` if a tensor comes from another copy of tfjs-core than this package uses. All copies
 * in a page or process share the engine of the first, but each has its own classes. Updates by another copy's
 * optimizers would not be noticed.
 *
 * @internal
 */
export function problemOfCopies(tensors: Iterable<object>): RematError | undefined {
  // Not `instanceof`, which TensorFlow.js overrides to accept tensors of any copy.
  for (const tensor of tensors) if (!Object.prototype.isPrototypeOf.call(Tensor.prototype, tensor)) return copies();
  return undefined;
}

const copies = (): RematError =>
  new RematError(
    "TFJS_COPIES",
    "two copies of @tensorflow/tfjs-core are loaded, and the model does not use the one that remat found. Keep one: " +
      "see npm ls @tensorflow/tfjs-core; in a page, import it only in the bundle.",
  );
