import type { OpDone } from "./engine-records.js";
import type { Op } from "./op.js";

/**
 * The running kernel. TensorFlow.js runs one op at a time and never awaits inside one, so plain fields are enough.
 *
 * @internal
 */
export class RunningKernel {
  /** The op whose kernel is running. */
  starting: Op | undefined;
  /** The same op until its kernel function is called, if a mode dispatches or listens to failures. */
  toDispatch: Op | undefined;
  /** The error that the kernel of `starting` has thrown. */
  thrown: { readonly error: unknown } | undefined;
  /** The op that has run, while the engine creates its saved tensors and its tape node. */
  finishing: OpDone | undefined;
  /** True if the running kernel is not watched by any mode. */
  isUnwatched = false;
  /** True inside `engine.clone`, whose Identity is not a user's op (engine rule 1). */
  isCloning = false;
  /** True if the kernel computed something in JavaScript that the device could compute. */
  hasRunOnHost = false;
  /** True if the kernel made the device add in an unspecified order. */
  hasAddedInAnyOrder = false;
}
