import { Phase } from "@remat/trace";
import { Optimizer, serialization } from "@tensorflow/tfjs-core";
import type { ApplyGradients, UpdateCall } from "./engine-records.js";
import type { Session } from "./session.js";
import { isTfjsMinimize, isTfjsUpdate } from "./tfjs-updates.js";

type OptimizerPrototype = Pick<Optimizer, "minimize" | "computeGradients" | "applyGradients">;

/**
 * Tracks the optimizer phase: ops inside `applyGradients`, and inside `minimize` once it has its gradients. Subclasses
 * may override these methods, so every class in the chain is patched: classes registered with TensorFlow.js when the
 * first mode opens, others when they first compute gradients or by `watchOptimizer`.
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
  session.update.tfjsComputes = base.computeGradients;
  for (const [registered] of Object.values(serialization.SerializationMap.getMap().classNameMap)) {
    if (typeof registered.prototype?.applyGradients === "function") watchOptimizerClass(session, registered.prototype);
  }
}

/** Patches the classes of an optimizer. @internal */
export function watchOptimizerClass(session: Session, optimizer: object): void {
  for (let at = optimizer; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    patchPrototype(session, at as OptimizerPrototype);
}

function patchPrototype(session: Session, prototype: OptimizerPrototype): void {
  if (session.update.watchedOptimizers.has(prototype)) return;
  session.update.watchedOptimizers.add(prototype);
  if (Object.hasOwn(prototype, "minimize"))
    session.patches.patch(prototype, "minimize", (original) => {
      const disposesGradients = isTfjsMinimize(original);
      return function (this: Optimizer, ...args: Parameters<Optimizer["minimize"]>) {
        return step(session, this, session.phase, () => {
          const around = session.update.minimizer;
          session.update.minimizer = disposesGradients
            ? { optimizer: this, listed: args[2] ?? undefined, isUpdated: false }
            : undefined;
          try {
            return original.apply(this, args);
          } finally {
            session.update.minimizer = around;
          }
        });
      };
    });
  if (Object.hasOwn(prototype, "applyGradients"))
    session.patches.patch(prototype, "applyGradients", (original) => {
      const method = original as ApplyGradients;
      const isOfTfjs = isTfjsUpdate(method);
      const patched = function applyGradients(this: Optimizer, ...args: Parameters<Optimizer["applyGradients"]>): void {
        const { minimizer, turns } = session.update;
        const isMinimized = minimizer?.optimizer === this;
        // The update was done in the backward pass.
        if (isMinimized && minimizer.isUpdated) return undefined;
        // False if this object has its own method in front, or if an override calls this one: both may read the
        // gradients afterwards.
        const ownsGradients = isMinimized && !session.update.isApplying && this.applyGradients === patched;
        const isTfjs = isOfTfjs && session.engine.state.gradientDepth === 0;
        const call: UpdateCall = { optimizer: this, gradients: args[0], method, isTfjs, ownsGradients, turns };
        return step(session, this, Phase.optimizer, () => update(session, call, () => original.apply(this, args)));
      };
      if (isOfTfjs) session.update.tfjsUpdates.add(patched);
      return patched;
    });
}

/** `minimize` calls `applyGradients`, and overrides call the base method. The outermost call is the step. */
function step<T>(session: Session, optimizer: Optimizer, phase: number, run: () => T): T {
  if (!session.alive) return run();
  const { modes } = session;
  const phaseBefore = session.phase;
  session.update.depth++;
  session.setPhase(phase);
  try {
    const result = run();
    if (session.update.depth === 1)
      for (const open of modes.listeners("optimizerStepDone"))
        if (modes.isInside(open)) open.mode.optimizerStepDone(optimizer);
    return result;
  } finally {
    session.update.depth--;
    session.setPhase(phaseBefore);
  }
}

/** Overrides call the base method. The outermost call is the update. */
function update(session: Session, call: UpdateCall, run: () => void): void {
  if (!session.alive) {
    run();
    return;
  }
  const { modes } = session;
  const isInner = session.update.isApplying;
  session.update.isApplying = true;
  try {
    if (!isInner)
      for (const open of modes.listeners("optimizerUpdateComing"))
        if (modes.isInside(open)) open.mode.optimizerUpdateComing(call.optimizer, call.gradients);
    const chain = modes.listeners("applyGradients").filter((open) => modes.isInside(open));
    const from = (depth: number): void => {
      const open = chain[depth];
      if (open === undefined) run();
      else open.mode.applyGradients(call, () => from(depth - 1));
    };
    from(chain.length - 1);
  } finally {
    session.update.isApplying = isInner;
  }
}
