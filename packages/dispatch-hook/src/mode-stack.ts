import type { RematError } from "@remat/trace";
import { type AsyncContext, makeAsyncContext } from "./async-context.js";
import type { DispatchMode } from "./dispatch-mode.js";

/** One opening of a mode; a mode may be open twice. */
export interface OpenMode {
  readonly mode: DispatchMode;
  /** Set once the mode turns out to be asynchronous: then only work that stems from its function is inside. */
  asynchronous: boolean;
  /** Whether it dozes, as it said when it was last asked. */
  isDozing: boolean;
  /** Whether the pass that runs is inside, which is synchronous; undefined where none runs, or it was opened in it. */
  isPassInside: boolean | undefined;
}

interface Context {
  readonly open: OpenMode;
  readonly around: Context | undefined;
}

/** Which modes the running code was started under; undefined in browsers, where that cannot be told. */
const context: AsyncContext<Context> | undefined = makeAsyncContext();

type MethodName = Exclude<keyof DispatchMode, "seesOutside" | "looksInPassing" | "isDozing">;
type Listener<K extends MethodName> = OpenMode & { readonly mode: DispatchMode & Required<Pick<DispatchMode, K>> };
/** By what is told at every op: in fields, since to look up each name would be a good part of what it costs to be watched. */
type OpListeners = { readonly [K in OpMethod | BufferMethod | "kernelOver"]: readonly Listener<K>[] };
type OpMethod = "dispatch" | "opStarting" | "opDone" | "opOver" | "opFailed";
type BufferMethod =
  | "opComing"
  | "dataComing"
  | "storageAllocated"
  | "storageReleased"
  | "storageResized"
  | "tensorsSaved";

/** What is told of ops, what of what they make, and what of how they hang together. */
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
/** A mode with one of these methods needs every op, buffer and tape node to be watched. The engine calls the others rarely. */
const ofEveryOp: readonly MethodName[] = [...ofOps, ...ofBuffers, ...ofTape];
const needsEveryOp: ReadonlySet<MethodName> = new Set(ofEveryOp);

/** What becomes of storages that modes were told of, which nobody need watch ops for. */
const ofKnownBuffers: ReadonlySet<MethodName> = new Set(["storageReleased", "storageResized"]);

/** Whether a mode is told by a method. */
function isTold({ mode, isDozing }: OpenMode, name: MethodName): boolean {
  if (mode[name] === undefined) return false;
  return isDozing ? !needsEveryOp.has(name) || ofKnownBuffers.has(name) : name !== "kernelOver";
}

/** The open modes, oldest first, and those of them that listen to each kind of observation. @internal */
export class ModeStack {
  private modes: OpenMode[] = [];
  /** How many functions that a mode is open for are not over. */
  private functions = 0;
  private readonly byMethod = new Map<MethodName, readonly OpenMode[]>();
  /** The open modes that listen to what happens at every op, oldest first. */
  told: OpListeners = opListenersOf([]);
  /** Whether a mode listens to what happens in ops; if none does they run as in stock, at its speed. */
  watchesOps = false;
  /** Whether a mode looks at scopes and tape nodes, or may keep ops, which say of which they are. */
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

  /** False if it was closed before. */
  remove(open: OpenMode): boolean {
    const index = this.modes.indexOf(open);
    if (index < 0) return false;
    this.modes.splice(index, 1);
    this.changed();
    return true;
  }

  /** Has all modes close themselves if they only observe. Returns whether none is left. */
  standBack(problem: RematError): boolean {
    const { modes } = this;
    if (modes.every(({ mode }) => mode.cannotWatch !== undefined))
      for (const { mode } of [...modes].reverse()) mode.cannotWatch?.(problem);
    return this.modes.length === 0;
  }

  /** The open modes that have the method `name`, oldest first. */
  listeners<K extends MethodName>(name: K): readonly Listener<K>[] {
    let found = this.byMethod.get(name);
    if (found === undefined) {
      found = this.modes.filter((open) => isTold(open, name));
      this.byMethod.set(name, found);
    }
    return found as readonly Listener<K>[];
  }

  /** Asks the modes which of them doze. */
  askWhoDozes(): void {
    let hasChanged = false;
    for (const open of this.modes) {
      const isDozing = open.mode.isDozing === true;
      hasChanged ||= isDozing !== open.isDozing;
      open.isDozing = isDozing;
    }
    if (hasChanged) this.changed();
  }

  /** A pass begins: to ask for each op which modes it is inside of would take longer than all the rest. */
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

  /** Runs `run`, the function of a mode, which is over when {@link functionOver} is called. */
  runInside<T>(open: OpenMode, run: () => T): T {
    this.functions++;
    return context === undefined ? run() : context.run({ open, around: context.getStore() }, run);
  }

  /** The function of a mode is over. After the last of them asynchronous work is no longer tracked, which slows every promise of the process down. */
  functionOver(): void {
    if (--this.functions === 0) context?.disable();
  }

  /** Whether the running code belongs to `open`. Synchronous modes have nobody beside them; where contexts cannot be told, all work belongs to all. */
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
