import { RematError } from "@remat/trace";
import { engine } from "@tensorflow/tfjs-core";

/** Under which all copies of this package in a process see that one of them watches an engine, and which. */
const watchedBy: symbol = Symbol.for("remat.dispatch-hook");
const thisCopy: object = {};

type Claimed = Record<symbol, object | undefined>;

/**
 * Notes on the engine that this copy of the package watches it.
 *
 * @param standBack is called when another copy asks whether this one watches, and closes what is open if that only observes
 * @throws RematError `TWO_HOOKS` if another copy watches it: each would take the other's work for the program's
 */
export function claimEngine(standBack: (problem: RematError) => void): void {
  const claimed = engine() as unknown as Claimed;
  const owner = claimed[watchedBy];
  if (owner !== undefined && owner !== thisCopy) throw twoHooks();
  // Another copy may be of an older version, which only reads the property.
  const get = () => {
    standBack(twoHooks());
    return Object.getOwnPropertyDescriptor(claimed, watchedBy) === undefined ? undefined : thisCopy;
  };
  Object.defineProperty(claimed, watchedBy, { get, configurable: true });
}

const twoHooks = (): RematError =>
  new RematError(
    "TWO_HOOKS",
    'another copy of @remat/dispatch-hook watches TensorFlow.js here, and one can at a time (npm ls @remat/dispatch-hook). Under `remat record` and `remat exec` a program that uses remat itself gets theirs where both are of one version. A CommonJS program on Node 20 gets it for require("@remat/checkpoint"), but not within require("remat").',
  );

export function releaseEngine(): void {
  delete (engine() as unknown as Claimed)[watchedBy];
}
