import { Phase } from "@remat/trace";
import type { DataId, KernelConfig, Optimizer, Variable } from "@tensorflow/tfjs-core";
import { type EngineInternals, engineInternals } from "./engine-internals.js";
import type { GradientScope, OpDone, Storage, StorageOrigin, TapeNode, UpdateTurns } from "./engine-records.js";
import type { KernelReplacement } from "./gradients/kernel-replacement.js";
import type { GradientsPass } from "./gradients-pass.js";
import { ModeStack } from "./mode-stack.js";
import type { Op } from "./op.js";
import { PassingOps } from "./passing-ops.js";
import { PatchSet } from "./patch-set.js";
import { Producers } from "./producers.js";
import { type StorageListener, StorageTable } from "./storage-table.js";

/** A call of tfjs's own `minimize`, which computes gradients, applies them and disposes of them. */
export interface Minimization {
  readonly optimizer: Optimizer;
  /** The variables that it was given, if it was. */
  readonly listed: readonly Variable[] | undefined;
  /** Whether the weights were updated in the backward pass. */
  isUpdated: boolean;
}

/**
 * What the patched methods share while at least one mode is open. tfjs runs one op at a time and never awaits inside one, nor inside
 * `gradients` or `minimize`: so plain fields suffice even when asynchronous modes are open.
 *
 * @internal
 */
export class Session implements StorageListener {
  readonly engine: EngineInternals = engineInternals();
  readonly patches: PatchSet = new PatchSet();
  readonly modes: ModeStack = new ModeStack();
  readonly storages: StorageTable = new StorageTable(this);
  /** False once the last mode is closed; wrappers that outlive the session then only pass through. */
  alive = true;
  phase: number = Phase.forward;
  scope: GradientScope | undefined;
  readonly passingOps: PassingOps = new PassingOps();
  /** The op whose kernel runs. */
  starting: Op | undefined;
  /** Whether a kernel runs that nobody watches. */
  isInUnwatched = false;
  /** That op until its kernel function is called, where some mode dispatches or is told of failures. */
  toDispatch: Op | undefined;
  readonly wrappedKernels: Map<KernelConfig, KernelConfig["kernelFunc"]> = new Map();
  /** What runs in place of a kernel where it is wanted; undefined for one that was looked at and stays. */
  readonly replacements: Map<KernelConfig, KernelReplacement | undefined> = new Map();
  /** What the kernel of `starting` has thrown. */
  thrown: { readonly error: unknown } | undefined;
  /** The op that has run and whose saved tensors and tape node the engine now makes. */
  finishing: OpDone | undefined;
  /** Whether the kernel that runs has computed something in JavaScript that the device could have. */
  hasRunOnHost = false;
  /** Whether it has had the device add in whichever order threads come. */
  hasAddedInAnyOrder = false;
  /** While a kernel is replayed: by output the `DataId` that gets its data. */
  replaying: readonly (DataId | undefined)[] | undefined;
  /** And the `sequence` of the op that it repeats. */
  repeated: number | undefined;
  /** Inside `engine.clone`, whose Identity is no op of the user's (rule 1). */
  cloning = false;
  /** The tape node whose gradient function runs. */
  node: TapeNode | undefined;
  /** The innermost `gradients` call. */
  pass: GradientsPass | undefined;
  /** How many `minimize` and `applyGradients` are running, one in the other. */
  minimizing = 0;
  /** What tfjs's own `minimize` does now. */
  minimizer: Minimization | undefined;
  /** The update that runs in a backward pass. */
  turns: UpdateTurns | undefined;
  /** The methods, as patched, that are tfjs's own updates. */
  readonly tfjsUpdates: WeakSet<object> = new WeakSet();
  /** As patched, tfjs's own `computeGradients`. */
  tfjsComputes: unknown;
  /** Inside `applyGradients`. */
  isUpdating = false;
  readonly watchedOptimizers: Set<object> = new Set();
  readonly watchesHostRunsOf: Set<object> = new Set();
  /** Backends whose programs are watched. */
  readonly watchesProgramsOf: Set<object> = new Set();
  /** Who made which tensor of the tape. */
  readonly producers: Producers = new Producers();

  /** Whether ops are watched: for a mode that listens, or since one is replayed. */
  get isWatching(): boolean {
    return this.modes.watchesOps || this.replaying !== undefined;
  }

  setPhase(phase: number): void {
    const before = this.phase;
    if (phase === before) return;
    this.phase = phase;
    for (const open of this.modes.listeners("phaseChanged"))
      if (this.modes.isInside(open)) open.mode.phaseChanged(phase, before);
  }

  dataComing(bytes: number): void {
    for (const open of this.modes.told.dataComing) if (this.modes.isInside(open)) open.mode.dataComing(bytes);
  }

  storageAllocated(storage: Storage, origin: StorageOrigin): void {
    for (const open of this.modes.told.storageAllocated)
      if (open.mode.seesOutside || this.modes.isInside(open)) open.mode.storageAllocated(storage, origin);
  }

  storageReleased(storage: Storage): void {
    for (const { mode } of this.modes.told.storageReleased) mode.storageReleased(storage);
  }

  storageResized(storage: Storage, bytes: number): void {
    for (const { mode } of this.modes.told.storageResized) mode.storageResized(storage, bytes);
  }
}
