import type { OpDone } from "./engine-records.js";
import type { Op } from "./op.js";

/**
 * The kernel that runs now. tfjs runs one op at a time and never awaits inside one, so plain fields are enough.
 *
 * @internal
 */
export class RunningKernel {
  /** The op whose kernel runs. */
  starting: Op | undefined;
  /** The same op until its kernel function is called, if a mode dispatches or listens to failures. */
  toDispatch: Op | undefined;
  /** The error that the kernel of `starting` has thrown. */
  thrown: { readonly error: unknown } | undefined;
  /** The op that has run, while the engine creates its saved tensors and its tape node. */
  finishing: OpDone | undefined;
  /** Whether a kernel runs that no mode watches. */
  isUnwatched = false;
  /** Inside `engine.clone`, whose Identity is not an op of the user's (rule 1). */
  isCloning = false;
  /** Whether the kernel has computed in JavaScript something that the device could compute. */
  hasRunOnHost = false;
  /** Whether it had the device add in the order in which threads come. */
  hasAddedInAnyOrder = false;
}
