import { Phase } from "@remat/trace";
import { Optimizer, serialization } from "@tensorflow/tfjs-core";
import type { Session } from "./session.js";

type OptimizerPrototype = Pick<Optimizer, "minimize" | "computeGradients" | "applyGradients">;

/**
 * The optimizer phase: ops inside `applyGradients`, and inside `minimize` once it has its gradients. Subclasses have methods of their own, so
 * every class on the way is patched: those registered with tfjs when the first mode opens, others when they first compute gradients or
 * by `watchOptimizer`.
 *
 * @internal
 */
export function patchOptimizers(session: Session): void {
  const base = Optimizer.prototype as OptimizerPrototype;
  patchPrototype(session, base);
  session.patches.patch(base, "computeGradients", (original) => {
    return function (this: Optimizer, ...args: Parameters<Optimizer["computeGradients"]>) {
      watchOptimizerClass(session, this);
      return original.apply(this, args);
    };
  });
  for (const [registered] of Object.values(serialization.SerializationMap.getMap().classNameMap)) {
    if (typeof registered.prototype?.applyGradients === "function") watchOptimizerClass(session, registered.prototype);
  }
}

/** @internal */
export function watchOptimizerClass(session: Session, optimizer: object): void {
  for (let at = optimizer; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    patchPrototype(session, at as OptimizerPrototype);
}

function patchPrototype(session: Session, prototype: OptimizerPrototype): void {
  if (session.watchedOptimizers.has(prototype)) return;
  session.watchedOptimizers.add(prototype);
  if (Object.hasOwn(prototype, "minimize"))
    session.patches.patch(prototype, "minimize", (original) => {
      return function (this: Optimizer, ...args: Parameters<Optimizer["minimize"]>) {
        return step(session, this, session.phase, () => original.apply(this, args));
      };
    });
  if (Object.hasOwn(prototype, "applyGradients"))
    session.patches.patch(prototype, "applyGradients", (original) => {
      return function (this: Optimizer, ...args: Parameters<Optimizer["applyGradients"]>) {
        return step(session, this, Phase.optimizer, () =>
          update(session, this, args[0], () => original.apply(this, args)),
        );
      };
    });
}

/** `minimize` calls `applyGradients`, and overrides call what they override: the outermost call is the step. */
function step<T>(session: Session, optimizer: Optimizer, phase: number, run: () => T): T {
  if (!session.alive) return run();
  const { modes } = session;
  const phaseBefore = session.phase;
  session.minimizing++;
  session.setPhase(phase);
  try {
    const result = run();
    if (session.minimizing === 1)
      for (const open of modes.listeners("optimizerStepDone"))
        if (modes.isInside(open)) open.mode.optimizerStepDone(optimizer);
    return result;
  } finally {
    session.minimizing--;
    session.setPhase(phaseBefore);
  }
}

/** Overrides call what they override: the outermost call is the update. */
function update(
  session: Session,
  optimizer: Optimizer,
  gradients: Parameters<Optimizer["applyGradients"]>[0],
  run: () => void,
): void {
  if (!session.alive || session.isUpdating) {
    run();
    return;
  }
  const { modes } = session;
  session.isUpdating = true;
  try {
    for (const open of modes.listeners("optimizerUpdateComing"))
      if (modes.isInside(open)) open.mode.optimizerUpdateComing(optimizer, gradients);
    run();
  } finally {
    session.isUpdating = false;
  }
}
