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
 * Runs `fn` with `mode` on top of the stack of modes, and closes the mode when `fn` is over or, where it returns a promise, when that is
 * settled. Until then other asynchronous work of the process is outside: the mode does not see it, or sees it as `Phase.outside`.
 *
 * When the last mode closes the engine is as it was before the first, also after an exception, and modes may close in any order. In a browser, where
 * nothing tells whose an asynchronous continuation is, all work counts as inside while an asynchronous `fn` is awaited.
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
 * Does what {@link withDispatchMode} does for a function that is synchronous. For what happens at each step: nothing is tracked of the process's promises, which
 * before Node 24 makes all of them slower, for a while or for good.
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
 * Opens `mode` until the returned function is called. All work of the process counts as inside. Prefer `withDispatchMode`, which cannot
 * forget to close.
 *
 * @example
 * const close = openDispatchMode(mode);
 * try { step(); } finally { close(); }
 */
export function openDispatchMode(mode: DispatchMode): CloseMode {
  return pushMode(mode).close;
}

/**
 * Runs `fn`, which is synchronous, with `mode` alone: other modes that are open see nothing of it. For what leaves everything as it was, e.g. a
 * rehearsal in fake mode: variables that are made later have the names that they have without it.
 *
 * @example
 * withModeAlone(meter, () => fakeMode(() => step()));
 */
export function withModeAlone<T>(mode: DispatchMode, fn: () => T): T {
  const session = openSession();
  // By it variables get their names.
  const engineClass = engineInternals().constructor as unknown as { nextVariableId: number };
  const { nextVariableId } = engineClass;
  try {
    return session === undefined ? withDispatchModeSync(mode, fn) : session.modes.runAlone(mode, fn);
  } finally {
    engineClass.nextVariableId = nextVariableId;
  }
}

/**
 * Returns the storages that `tensor` lives in: one; two for a complex number on cpu; none where its backend is unknown. Only while a mode is open
 * that listens to ops, storages or the tape, since nobody watches buffers otherwise: then the list is empty, too.
 */
export function storagesOf(tensor: TensorInfo): readonly Storage[] {
  const session = openSession();
  return session?.isWatching ? session.storages.storagesOf(tensor) : [];
}

/** Calls `look` with each of the storages that {@link storagesOf} returns, without a list of them: for who asks at every op. */
export function eachStorageOf(tensor: TensorInfo, look: (storage: Storage) => void): void {
  const session = openSession();
  if (session?.isWatching) session.storages.eachStorageOf(tensor, look);
}

/** Tells whether `mode` is open and the running code is inside of it. */
export function isDispatching(mode: DispatchMode): boolean {
  return openSession()?.modes.isOpenInside(mode) ?? false;
}

/** Tells whether a mode that the running code is inside of decides what is recomputed, in the place of blocks that are checkpointed by hand. */
export function isCheckpointingDecided(): boolean {
  const modes = openSession()?.modes;
  return (
    modes?.listeners("decidesCheckpointing").some((open) => open.mode.decidesCheckpointing && modes.isInside(open)) ??
    false
  );
}

/**
 * Lets the hook know an optimizer of a class that is not registered with tfjs and that overrides `minimize`, so that already its first step
 * counts as `Phase.optimizer`. Only while a mode is open.
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
