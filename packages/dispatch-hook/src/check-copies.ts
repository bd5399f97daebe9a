import { RematError } from "@remat/trace";
import { Tensor } from "@tensorflow/tfjs-core";

/**
 * Checks that tensors are of the copy of tfjs-core that this package has: all copies in a page or a process share one engine, that of the first, but each has its own
 * classes, so that the updates of another one's optimizers would go by unseen.
 *
 * @throws RematError `TFJS_COPIES` where they are of another
 * @internal
 */
export function checkCopies(tensors: Iterable<object>): void {
  // Not by `instanceof`, which tfjs has say yes to tensors of any copy.
  for (const tensor of tensors) if (!Object.prototype.isPrototypeOf.call(Tensor.prototype, tensor)) throw copies();
}

const copies = (): RematError =>
  new RematError(
    "TFJS_COPIES",
    "there are two copies of @tensorflow/tfjs-core here, and what is trained is made by another than the one that remat finds: expected one. In a page a <script> that loads TensorFlow.js and a bundle that imports it make two: import it in the bundle alone. In a bundle npm ls @tensorflow/tfjs-core shows where they are: install one version for all. Where that shows one, the bundler has taken it twice, as ES modules and as CommonJS for a package that requires it: esbuild takes one with --main-fields=browser,module,main.",
  );
