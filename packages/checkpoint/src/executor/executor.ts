import {
  type DispatchInterceptor,
  type DispatchObserver,
  type DispatchPolicy,
  type GradientsCall,
  type GradientsResult,
  type KernelAttributes,
  type KernelInputs,
  type OpCall,
  type OpDone,
  type RunGradients,
  type Storage,
  type StorageOrigin,
  type UpdateCall,
} from "@remat/dispatch-hook";
import { type Backend, findBackend } from "@remat/dispatch-hook/backends";
import { copyIfShared } from "@remat/dispatch-hook/residency";
import { RematError } from "@remat/trace";
import { type DataId, getBackend, Tensor, type TensorInfo, type Variable } from "@tensorflow/tfjs-core";
import { KeptMemory } from "../kept-memory.js";
import { MemoryMeter } from "../memory-meter.js";
import { rehearsal } from "../update/rehearsal.js";
import { UpdateReleaser } from "../update/update-releaser.js";
import { Ledger, type LedgerListener } from "./ledger.js";
import type { Recipe, StoredBuffer } from "./stored-data.js";
import { checkBackend } from "./supported-backend.js";

/** Decides which buffers to evict, and recomputes buffers before they are read. @internal */
export interface Policy {
  passStarting(ledger: Ledger): void;
  /** The pass is over, and data of surviving tensors is about to be recomputed. */
  passOver(): void;
  /** Data of all surviving tensors is back in memory. */
  passEnded?(): void;
  /** A user's op is about to run, and its inputs are in memory. */
  opComing?(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void;
  /** An op has run. `recipe` is undefined if it made nothing new, or nothing that can be recomputed. */
  opOver(op: OpDone, recipe: Recipe | undefined): void;
  bufferUnused(buffer: StoredBuffer): void;
  replaying(recipe: Recipe): void;
  /** JavaScript has created a storage during the pass. */
  dataMade?(storage: Storage): void;
  /**
   * True if the ledger needs to record this op. Default: every op. An op whose output is in a known buffer is always
   * recorded.
   */
  isNoted?(op: OpDone): boolean;
  /** True if the ledger can ignore the inputs of the next op. */
  readonly passesNext?: boolean;
  /** An op has run that the ledger did not record. */
  opPassed?(op: OpDone): void;
  /** An evicted buffer is read. Returns true if the policy has recomputed it. */
  recomputing?(buffer: StoredBuffer): boolean;
  /** True if nothing is evicted at present, so that the ledger need not record ops. */
  readonly watchesOnly?: boolean;
}

/** Memory and recomputation figures of one forward and backward pass. */
export interface PassReport {
  /** Peak memory during the pass in bytes, counted by buffer. Includes weights, inputs and gradients. */
  readonly peakBytes: number;
  /** Number of recomputed ops, including refreshed views. */
  readonly recomputedOps: number;
  /** Time spent on recomputation in milliseconds, if kernels are synchronous. */
  readonly recomputedMs: number;
  /** Number of evicted buffers. */
  readonly evictions: number;
  /** Number of buffers recomputed because something read them, not because the plan scheduled it. */
  readonly recomputedOnTouch: number;
  /** Bytes moved to host memory. */
  readonly offloadedBytes: number;
  /** Bytes moved back from host memory. */
  readonly reloadedBytes: number;
  /** Time spent on these transfers in milliseconds. No kernel runs during them. */
  readonly transferMs: number;
}

/** The innermost open executor keeps the ledger of a pass. Passes inside that pass are part of it. */
let isPassRunning = false;

/**
 * A dispatch mode that runs backward passes and updates with early release. During each pass it keeps a ledger of
 * recipes, which lets a policy evict and recompute data. Nothing is evicted outside of `engine.gradients`, which is
 * synchronous.
 *
 * @internal
 */
export class Executor implements DispatchObserver, DispatchInterceptor, DispatchPolicy {
  readonly looksInPassing = true;
  lastPass: PassReport | undefined;
  private ledger: Ledger | undefined;
  /** Start of the running op. Undefined if it need not be recorded, and so is not timed. */
  private startedMs: number | undefined;
  /** Number of ops that have finished in this pass. */
  private opCount = 0;
  /** For each kernel of the current backend, the input that it overwrites. */
  private writesTo: Backend["writesTo"];
  private readonly listener: LedgerListener;
  protected readonly updates: UpdateReleaser = new UpdateReleaser(rehearsal);
  /** Memory that the backend of the last pass keeps after it is freed. */
  protected kept: KeptMemory | undefined;

  private readonly policy: Policy;
  readonly meter: MemoryMeter;
  /** The gradients to use. Under a plan these are the ones that were planned. */
  private readonly gradientsTaken: DispatchPolicy["fasterGradients"];

  constructor(
    policy: Policy,
    meter: MemoryMeter = new MemoryMeter(),
    gradientsTaken: DispatchPolicy["fasterGradients"] = "equal",
  ) {
    this.policy = policy;
    this.meter = meter;
    this.gradientsTaken = gradientsTaken;

    this.listener = policy;
  }

  /** False: the policy frees saved tensors that nothing reads again, at a time that its prediction knows. */
  get releasesEarly(): boolean {
    return true;
  }

  get sharesOnes(): boolean {
    return true;
  }

  get sharesSaved(): boolean {
    return true;
  }

  get fasterGradients(): DispatchPolicy["fasterGradients"] {
    return this.gradientsTaken;
  }

  get decidesCheckpointing(): boolean {
    return true;
  }

  /** False: recomputation reads the weights of the forward pass, and plans and budgets rely on that. */
  get updatesInBackward(): boolean | undefined {
    return false;
  }

  /** If the mode closes during a pass, evicted data is recomputed now, because nothing would do so later. */
  closing(): void {
    const { ledger } = this;
    if (ledger === undefined) return;
    this.policy.passOver();
    this.ledger = undefined;
    try {
      ledger.end();
    } finally {
      this.policy.passEnded?.();
    }
  }

  gradients(call: GradientsCall, next: RunGradients): GradientsResult {
    if (isPassRunning) return next();
    checkBackend();
    this.meter.reset();
    const ledger = new Ledger(this.listener);
    this.ledger = ledger;
    this.opCount = 0;
    this.writesTo = findBackend(getBackend()).writesTo;
    this.kept = KeptMemory.here();
    isPassRunning = true;
    try {
      this.policy.passStarting(ledger);
      const forward = () => {
        const { forward: run } = call;
        const y = run();
        // The engine rejects anything that is not a tensor.
        if (y instanceof Tensor) ledger.hold(y.dataId);
        return y;
      };
      return next({ ...call, forward });
    } finally {
      try {
        this.policy.passOver();
        ledger.end();
      } finally {
        this.ledger = undefined;
        isPassRunning = false;
        this.policy.passEnded?.();
        this.lastPass = {
          peakBytes: this.meter.peakBytes,
          recomputedOps: ledger.replayCount,
          recomputedMs: ledger.replayMs,
          evictions: ledger.evictionCount,
          recomputedOnTouch: ledger.touchCount,
          offloadedBytes: ledger.hostCopies.offloadedBytes,
          reloadedBytes: ledger.hostCopies.reloadedBytes,
          transferMs: ledger.hostCopies.ms,
        };
      }
    }
  }

  applyGradients(call: UpdateCall, next: () => void): void {
    this.updates.run(call, next);
  }

  /** True if a kernel is being replayed. */
  protected get isReplaying(): boolean {
    return this.ledger?.isReplaying === true;
  }

  /** Counts an op of the pass that was not watched. */
  protected opUnwatched(): void {
    this.opCount++;
  }

  /** True if a forward or backward pass is running. */
  protected get isInPass(): boolean {
    return this.ledger !== undefined;
  }

  /** Evicted data must be recomputed on the backend that made it. */
  backendChanging(name: string): void {
    const current = getBackend();
    if (this.ledger === undefined || name === current) return;
    throw new RematError(
      "BACKEND_UNSUPPORTED",
      `the backend changed from '${current}' to '${name}' during a forward and backward pass, ` +
        `and evicted data is on '${current}'. Switch backends before or after the pass.`,
    );
  }

  opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    const { ledger, policy } = this;
    const isPrepared = ledger !== undefined && !policy.watchesOnly && !ledger.isReplaying;
    const isNoted = isPrepared && policy.passesNext !== true;
    if (isPrepared) this.prepare(ledger, kernel, inputs, attributes, isNoted);
    // Includes tensors disposed since the last op, and just now.
    this.kept?.settle();
    // A kernel may read evicted data, which is then recomputed while the op runs.
    if (ledger?.isReplaying !== true) this.startedMs = isNoted ? performance.now() : undefined;
  }

  private prepare(
    ledger: Ledger,
    kernel: string,
    inputs: KernelInputs,
    attributes: KernelAttributes | undefined,
    areNoted: boolean,
  ): void {
    const { policy } = this;
    const written = this.writesTo?.get(kernel);
    if (written !== undefined) ledger.writing((inputs as Readonly<Record<string, TensorInfo>>)[written]);
    const locked = ledger.lock(inputs, areNoted);
    try {
      ledger.makeReadable(locked);
      policy.opComing?.(kernel, inputs, attributes);
    } finally {
      ledger.unlock(locked);
    }
  }

  opStarting(call: OpCall): void {
    this.meter.opStarting(call);
  }

  opOver(op: OpDone): void {
    const { ledger } = this;
    this.kept?.settle();
    if (ledger === undefined || ledger.isReplaying) return;
    const place = this.opCount++;
    if (this.policy.watchesOnly) return this.policy.opOver(op, undefined);
    if (this.policy.isNoted?.(op) !== false || ledger.hasBufferOf(op.outputs))
      this.policy.opOver(op, ledger.note(op, this.costMs(), place));
    else this.policy.opPassed?.(op);
  }

  /** Time of the op that has run. An op that was not to be recorded is a view of known data, which takes no time. */
  private costMs(): number {
    return this.startedMs === undefined ? 0 : performance.now() - this.startedMs;
  }

  tensorRead(dataId: DataId): void {
    this.ledger?.touch(dataId);
  }

  /**
   * Recomputation needs the original values. On the cpu backend a read returns the data itself, which the caller may
   * modify.
   */
  valuesRead(dataId: DataId, values: unknown): unknown {
    return this.ledger === undefined ? values : copyIfShared(dataId, values);
  }

  variableAssigned({ dataId }: Variable): void {
    this.ledger?.hold(dataId);
  }

  dataUnused(dataId: DataId): void {
    this.ledger?.unused(dataId);
  }

  storageAllocated(storage: Storage, origin: StorageOrigin): void {
    if (origin === "data" && this.ledger !== undefined) {
      this.ledger.madeByJavaScript(storage);
      this.policy.dataMade?.(storage);
    }
    this.meter.storageAllocated(storage);
  }

  storageReleased(storage: Storage): void {
    this.meter.storageReleased(storage);
  }

  storageResized(storage: Storage, bytes: number): void {
    this.meter.storageResized(storage, bytes);
  }
}
