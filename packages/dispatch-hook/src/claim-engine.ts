import { RematError } from "@remat/trace";
import { engine } from "@tensorflow/tfjs-core";

/** Property on the engine by which copies of this package in a process see that one of them watches it. */
const watchedBy: symbol = Symbol.for("remat.dispatch-hook");
const thisCopy: object = {};

type Claimed = Record<symbol, object | undefined>;

/**
 * Records on the engine that this copy of the package watches it.
 *
 * @param standBack called when another copy checks whether this one watches; closes open modes that only observe
 * @throws RematError `TWO_HOOKS` if another copy watches it, since each would see the other's work as the program's
 */
export function claimEngine(standBack: (problem: RematError) => void): void {
  const claimed = engine() as unknown as Claimed;
  const owner = claimed[watchedBy];
  if (owner !== undefined && owner !== thisCopy) throw twoHooks();
  // Another copy may be an older version that only reads the property.
  const get = () => {
    standBack(twoHooks());
    return Object.getOwnPropertyDescriptor(claimed, watchedBy) === undefined ? undefined : thisCopy;
  };
  Object.defineProperty(claimed, watchedBy, { get, configurable: true });
}

const twoHooks = (): RematError =>
  new RematError(
    "TWO_HOOKS",
    "another copy of @remat/dispatch-hook already watches TensorFlow.js, and only one can. Install one version: npm ls @remat/dispatch-hook lists the copies.",
  );

export function releaseEngine(): void {
  delete (engine() as unknown as Claimed)[watchedBy];
}
