import type { RematError } from "@remat/trace";
import { type AsyncContext, makeAsyncContext } from "./async-context.js";
import type { DispatchMode } from "./dispatch-mode.js";

/** One opening of a mode, which may be open twice. */
export interface OpenMode {
  readonly mode: DispatchMode;
  /** Set once the mode turns out to be asynchronous. Then only work started by its function is inside. */
  asynchronous: boolean;
  /** True if the mode dozed when it was last asked. */
  isDozing: boolean;
  /**
   * True if the running pass, which is synchronous, is inside. Undefined outside of passes, or if the mode was opened
   * in the pass.
   */
  isPassInside: boolean | undefined;
}

interface Context {
  readonly open: OpenMode;
  readonly around: Context | undefined;
}

/** The modes under which the running code was started. Undefined in browsers, which cannot track this. */
const context: AsyncContext<Context> | undefined = makeAsyncContext();

type MethodName = Exclude<keyof DispatchMode, "seesOutside" | "looksInPassing" | "isDozing">;
type Listener<K extends MethodName> = OpenMode & { readonly mode: DispatchMode & Required<Pick<DispatchMode, K>> };
/**
 * Listeners of events that occur at every op. They are fields, since a lookup by name would be a large part of the cost
 * of watching.
 */
type OpListeners = { readonly [K in OpMethod | BufferMethod | "kernelOver"]: readonly Listener<K>[] };
type OpMethod = "dispatch" | "opStarting" | "opDone" | "opOver" | "opFailed";
type BufferMethod =
  | "opComing"
  | "dataComing"
  | "storageAllocated"
  | "storageReleased"
  | "storageResized"
  | "tensorsSaved";

/** Events of ops, of their data, and of their relations on the tape. */
const ofOps: readonly OpMethod[] = ["dispatch", "opStarting", "opDone", "opOver", "opFailed"];
const ofBuffers: readonly BufferMethod[] = [
  "opComing",
  "dataComing",
  "storageAllocated",
  "storageReleased",
  "storageResized",
  "tensorsSaved",
];
const ofTape = [
  "scopeEntered",
  "scopeExited",
  "tensorsSaved",
  "tapeNodeAdded",
  "backwardNodeEntered",
  "backwardNodeExited",
] as const satisfies readonly MethodName[];
/**
 * A mode with one of these methods needs every op, buffer and tape node to be watched. The engine calls the others
 * rarely.
 */
const ofEveryOp: readonly MethodName[] = [...ofOps, ...ofBuffers, ...ofTape];
const needsEveryOp: ReadonlySet<MethodName> = new Set(ofEveryOp);

/** Events of storages that modes already know, which do not require watching ops. */
const ofKnownBuffers: ReadonlySet<MethodName> = new Set(["storageReleased", "storageResized"]);

/** Returns whether a mode receives an event. */
function isTold({ mode, isDozing }: OpenMode, name: MethodName): boolean {
  if (mode[name] === undefined) return false;
  return isDozing ? !needsEveryOp.has(name) || ofKnownBuffers.has(name) : name !== "kernelOver";
}

/** The open modes, oldest first, and the listeners for each event. @internal */
export class ModeStack {
  private modes: OpenMode[] = [];
  /** Number of functions with an open mode that have not returned. */
  private functions = 0;
  private readonly byMethod = new Map<MethodName, readonly OpenMode[]>();
  /** Listeners of the events that occur at every op, oldest first. */
  told: OpListeners = opListenersOf([]);
  /** True if a mode listens to events inside ops. If none does, ops run at the speed of unmodified TensorFlow.js. */
  watchesOps = false;
  /** True if a mode reads scopes and tape nodes, or may keep ops, which refer to them. */
  watchesTape = false;

  get size(): number {
    return this.modes.length;
  }

  push(mode: DispatchMode): OpenMode {
    const open = opening(mode);
    this.modes.push(open);
    this.changed();
    return open;
  }

  /** Removes a mode. Returns false if it was closed before. */
  remove(open: OpenMode): boolean {
    const index = this.modes.indexOf(open);
    if (index < 0) return false;
    this.modes.splice(index, 1);
    this.changed();
    return true;
  }

  /** Makes all modes close themselves if they only observe. Returns whether none is left. */
  standBack(problem: RematError): boolean {
    const { modes } = this;
    if (modes.every(({ mode }) => mode.cannotWatch !== undefined))
      for (const { mode } of [...modes].reverse()) mode.cannotWatch?.(problem);
    return this.modes.length === 0;
  }

  /** Returns the open modes with the method `name`, oldest first. */
  listeners<K extends MethodName>(name: K): readonly Listener<K>[] {
    let found = this.byMethod.get(name);
    if (found === undefined) {
      found = this.modes.filter((open) => isTold(open, name));
      this.byMethod.set(name, found);
    }
    return found as readonly Listener<K>[];
  }

  /** Updates which modes doze. */
  askWhoDozes(): void {
    let hasChanged = false;
    for (const open of this.modes) {
      const isDozing = open.mode.isDozing === true;
      hasChanged ||= isDozing !== open.isDozing;
      open.isDozing = isDozing;
    }
    if (hasChanged) this.changed();
  }

  /**
   * Caches at the beginning of a pass which modes are around it, since checking this for each op would take longer than
   * everything else.
   */
  passStarting(): void {
    for (const open of this.modes) if (open.asynchronous) open.isPassInside = this.isInside(open);
  }

  passOver(): void {
    for (const open of this.modes) open.isPassInside = undefined;
  }

  /** Runs `run`, which is synchronous and opens no mode, as if `mode` were the only one. */
  runAlone<T>(mode: DispatchMode, run: () => T): T {
    const others = this.modes;
    this.modes = [opening(mode)];
    this.changed();
    try {
      return run();
    } finally {
      this.modes = others;
      this.changed();
    }
  }

  private changed(): void {
    this.byMethod.clear();
    this.told = opListenersOf(this.modes);
    const awake = this.modes.filter(({ isDozing }) => !isDozing);
    this.watchesOps = awake.some(({ mode }) => ofEveryOp.some((name) => mode[name] !== undefined));
    this.watchesTape = awake.some(
      ({ mode }) =>
        ofTape.some((name) => mode[name] !== undefined) ||
        (mode.looksInPassing !== true && ofOps.some((name) => mode[name] !== undefined)),
    );
  }

  isOpenInside(mode: DispatchMode): boolean {
    return this.modes.some((open) => open.mode === mode && this.isInside(open));
  }

  /** Runs `run`, the function of a mode. It ends when {@link functionOver} is called. */
  runInside<T>(open: OpenMode, run: () => T): T {
    this.functions++;
    return context === undefined ? run() : context.run({ open, around: context.getStore() }, run);
  }

  /**
   * The function of a mode has ended. After the last one asynchronous work is no longer tracked, because that slows
   * down every promise of the process.
   */
  functionOver(): void {
    if (--this.functions === 0) context?.disable();
  }

  /**
   * Returns whether the running code belongs to `open`. Synchronous modes contain all running code. Without context
   * tracking all work belongs to all modes.
   */
  isInside(open: OpenMode): boolean {
    if (!open.asynchronous || context === undefined) return true;
    if (open.isPassInside !== undefined) return open.isPassInside;
    for (let at = context.getStore(); at !== undefined; at = at.around) if (at.open === open) return true;
    return false;
  }
}

const opening = (mode: DispatchMode): OpenMode => ({
  mode,
  asynchronous: false,
  isDozing: mode.isDozing === true,
  isPassInside: undefined,
});

const opListenersOf = (modes: readonly OpenMode[]): OpListeners =>
  Object.fromEntries(
    [...ofOps, ...ofBuffers, "kernelOver" as const].map((name) => [name, modes.filter((open) => isTold(open, name))]),
  ) as unknown as OpListeners;
