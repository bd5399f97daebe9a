import { RematError } from "@remat/trace";
import { engine } from "@tensorflow/tfjs-core";

/** Under which all copies of this package in a process see that one of them watches an engine, and which. */
const watchedBy: symbol = Symbol.for("remat.dispatch-hook");
const thisCopy: object = {};

type Claimed = Record<symbol, object | undefined>;

/**
 * Notes on the engine that this copy of the package watches it.
 *
 * @throws RematError `TWO_HOOKS` where another copy does: each would take what the other does for the program's
 */
export function claimEngine(): void {
  const claimed = engine() as unknown as Claimed;
  if (claimed[watchedBy] !== undefined && claimed[watchedBy] !== thisCopy)
    throw new RematError(
      "TWO_HOOKS",
      'another copy of @remat/dispatch-hook watches TensorFlow.js here, and one can at a time (npm ls @remat/dispatch-hook). Under `remat record` and `remat exec` a program that uses remat itself gets theirs where both are of one version. A CommonJS program on Node 20 gets it for require("@remat/checkpoint"), but not within require("remat").',
    );
  Object.defineProperty(claimed, watchedBy, { value: thisCopy, configurable: true });
}

export function releaseEngine(): void {
  delete (engine() as unknown as Claimed)[watchedBy];
}
