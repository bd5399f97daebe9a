import { Phase } from "@remat/trace";
import type { DataId, KernelConfig } from "@tensorflow/tfjs-core";
import { type EngineInternals, engineInternals } from "./engine-internals.js";
import type { GradientScope, Storage, StorageOrigin, TapeNode } from "./engine-records.js";
import type { KernelReplacement } from "./gradients/kernel-replacement.js";
import type { GradientsPass } from "./gradients-pass.js";
import { ModeStack } from "./mode-stack.js";
import { PassingOps } from "./passing-ops.js";
import { PatchSet } from "./patch-set.js";
import { Producers } from "./producers.js";
import { RunningKernel } from "./running-kernel.js";
import { RunningUpdate } from "./running-update.js";
import { type StorageListener, StorageTable } from "./storage-table.js";

/** A kernel that is replayed, off the tape. */
export interface ReplayedKernel {
  /** For each output, the `DataId` that receives its data. */
  readonly into: readonly (DataId | undefined)[];
  /** The `sequence` of the op that it repeats. */
  readonly sequence: number | undefined;
}

/**
 * State shared by the patched methods while at least one mode is open. TensorFlow.js runs one op at a time and never
 * awaits inside one, nor inside `gradients` or `minimize`. So plain fields are enough even for asynchronous modes.
 *
 * @internal
 */
export class Session implements StorageListener {
  readonly engine: EngineInternals = engineInternals();
  readonly patches: PatchSet = new PatchSet();
  readonly modes: ModeStack = new ModeStack();
  readonly storages: StorageTable = new StorageTable(this);
  /** False once the last mode is closed. Wrappers that outlive the session then only pass calls through. */
  alive = true;
  phase: number = Phase.forward;
  scope: GradientScope | undefined;
  readonly passingOps: PassingOps = new PassingOps();
  readonly kernel: RunningKernel = new RunningKernel();
  readonly update: RunningUpdate = new RunningUpdate();
  readonly wrappedKernels: Map<KernelConfig, KernelConfig["kernelFunc"]> = new Map();
  /** Replacements of kernels. Undefined for a kernel that was checked and has none. */
  readonly replacements: Map<KernelConfig, KernelReplacement | undefined> = new Map();
  /** The kernel that is being replayed. */
  replaying: ReplayedKernel | undefined;
  /** The tape node whose gradient function is running. */
  node: TapeNode | undefined;
  /** The innermost `gradients` call. */
  pass: GradientsPass | undefined;
  readonly watchesHostRunsOf: Set<object> = new Set();
  /** Backends whose programs are watched. */
  readonly watchesProgramsOf: Set<object> = new Set();
  /** Tape nodes that made the tensors on the tape. */
  readonly producers: Producers = new Producers();

  /** True if ops are watched, because a mode listens or an op is being replayed. */
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
