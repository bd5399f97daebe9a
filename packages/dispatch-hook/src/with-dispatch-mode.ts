import type { TensorInfo } from "@tensorflow/tfjs-core";
import { patchBackends } from "./backend-hook.js";
import { claimEngine, releaseEngine } from "./claim-engine.js";
import type { CloseMode, DispatchMode } from "./dispatch-mode.js";
import { engineInternals } from "./engine-internals.js";
import type { Storage } from "./engine-records.js";
import { forgetOnes } from "./gradients/ones-array.js";
import { patchKernels } from "./kernel-hook.js";
import type { OpenMode } from "./mode-stack.js";
import { openSession, setSession } from "./open-session.js";
import { patchOptimizers, watchOptimizerClass } from "./optimizer-hook.js";
import { patchDisposal } from "./residency/pins.js";
import { patchClone } from "./scope-hook.js";
import { Session } from "./session.js";
import { patchTape } from "./tape-hook.js";
import { patchVariables } from "./variable-hook.js";

/**
 * Runs `fn` with `mode` on top of the mode stack. The mode closes when `fn` returns or, if it returns a promise, when
 * that settles. Until then, other asynchronous work of the process is outside of the mode, which does not see it, or
 * sees it as `Phase.outside`.
 *
 * When the last mode closes, the engine is restored, also after an exception. Modes may close in any order. Browsers
 * cannot attribute asynchronous continuations, so there all work counts as inside while an asynchronous `fn` is
 * awaited.
 *
 * @example
 * const names: string[] = [];
 * withDispatchMode({ opDone: (op) => names.push(op.kernel) }, () => tf.tidy(() => tf.relu(tf.tensor1d([-1, 1])).dataSync()));
 * await withDispatchMode(mode, () => model.fit(x, y));
 */
export function withDispatchMode<T>(mode: DispatchMode, fn: () => T): T {
  const { open, close: closeMode, stack } = pushMode(mode);
  const close = () => {
    stack.functionOver();
    closeMode();
  };
  let result: T;
  try {
    result = stack.runInside(open, fn);
  } catch (error) {
    close();
    throw error;
  }
  if (!isPromise(result)) {
    close();
    return result;
  }
  open.asynchronous = true;
  return result.then(
    (value) => {
      close();
      return value;
    },
    (error: unknown) => {
      close();
      throw error;
    },
  ) as T;
}

/**
 * Does the same as {@link withDispatchMode} for a synchronous function. Use it for frequent calls, because it does not
 * track promises. Before Node 24, tracking slows down all promises of the process, temporarily or permanently.
 */
export function withDispatchModeSync<T>(mode: DispatchMode, fn: () => T): T {
  const { close } = pushMode(mode);
  try {
    return fn();
  } finally {
    close();
  }
}

/**
 * Opens `mode` until the returned function is called. All work of the process counts as inside. Prefer
 * `withDispatchMode`, which always closes the mode.
 *
 * @example
 * const close = openDispatchMode(mode);
 * try { step(); } finally { close(); }
 */
export function openDispatchMode(mode: DispatchMode): CloseMode {
  return pushMode(mode).close;
}

/**
 * Runs a synchronous `fn` with `mode` as the only open mode. Use it for work that should leave no traces, such as a
 * rehearsal in fake mode. It does not change the names of variables made later.
 *
 * @example
 * withModeAlone(meter, () => fakeMode(() => step()));
 */
export function withModeAlone<T>(mode: DispatchMode, fn: () => T): T {
  const session = openSession();
  // Variables get their names from it.
  const engineClass = engineInternals().constructor as unknown as { nextVariableId: number };
  const { nextVariableId } = engineClass;
  try {
    return session === undefined ? withDispatchModeSync(mode, fn) : session.modes.runAlone(mode, fn);
  } finally {
    engineClass.nextVariableId = nextVariableId;
  }
}

/**
 * Returns the storages of `tensor`: one, two for a complex number on cpu, or none if its backend is unknown. The list
 * is also empty unless an open mode listens to ops, storages or the tape, because buffers are not watched otherwise.
 */
export function storagesOf(tensor: TensorInfo): readonly Storage[] {
  const session = openSession();
  return session?.isWatching ? session.storages.storagesOf(tensor) : [];
}

/**
 * Calls `look` with each storage that {@link storagesOf} returns, without allocating a list. For code that runs at
 * every op.
 */
export function eachStorageOf(tensor: TensorInfo, look: (storage: Storage) => void): void {
  const session = openSession();
  if (session?.isWatching) session.storages.eachStorageOf(tensor, look);
}

/** Returns whether `mode` is open and the running code is inside it. */
export function isDispatching(mode: DispatchMode): boolean {
  return openSession()?.modes.isOpenInside(mode) ?? false;
}

/**
 * Returns whether a mode around the running code decides on recomputation, instead of manual activation checkpointing.
 */
export function isCheckpointingDecided(): boolean {
  const modes = openSession()?.modes;
  return (
    modes?.listeners("decidesCheckpointing").some((open) => open.mode.decidesCheckpointing && modes.isInside(open)) ??
    false
  );
}

/**
 * Registers an optimizer of a class that is not registered with TensorFlow.js and overrides `minimize`, so that its
 * first step already counts as `Phase.optimizer`. Only while a mode is open.
 */
export function watchOptimizer(optimizer: object): void {
  const session = openSession();
  if (session !== undefined) watchOptimizerClass(session, optimizer);
}

function pushMode(mode: DispatchMode): { open: OpenMode; close: CloseMode; stack: Session["modes"] } {
  const opened = openSession() ?? startSession();
  const open = opened.modes.push(mode);
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    try {
      mode.closing?.();
    } finally {
      opened.modes.remove(open);
      if (opened.modes.size === 0) endSession(opened);
      mode.closed?.();
    }
  };
  try {
    mode.opened?.();
  } catch (error) {
    close();
    throw error;
  }
  return { open, close, stack: opened.modes };
}

function startSession(): Session {
  const started = new Session();
  claimEngine((problem) => void started.modes.standBack(problem));
  try {
    patchBackends(started);
    patchKernels(started);
    patchClone(started);
    patchTape(started);
    patchVariables(started);
    patchDisposal(started);
    patchOptimizers(started);
  } catch (error) {
    started.patches.restore();
    releaseEngine();
    throw error;
  }
  setSession(started);
  return started;
}

function endSession(ended: Session): void {
  ended.alive = false;
  ended.patches.restore();
  releaseEngine();
  forgetOnes();
  setSession(undefined);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | undefined)?.then === "function";
}
