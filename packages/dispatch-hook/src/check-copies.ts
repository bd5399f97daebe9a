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
    "there are two copies of @tensorflow/tfjs-core here, and what is trained is made by another than the one that remat finds: expected one. In a page a <script> that loads TensorFlow.js and a bundle that imports it make two: import it in the bundle alone. In a bundle npm ls @tensorflow/tfjs-core shows where they are: install one version for all. Where that shows one, the bundler has taken it twice, as ES modules and as CommonJS for a package that requires it: esbuild takes one with --main-fields=browser,module,main.",
  );
