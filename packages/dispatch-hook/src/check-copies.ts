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
    "two copies of @tensorflow/tfjs-core are loaded: the model uses one, and remat uses the other. Keep one copy: npm ls @tensorflow/tfjs-core lists them. In a page, import it only in the bundle.",
  );
