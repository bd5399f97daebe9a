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

/** Decides what is evicted when, and what is recomputed before it is touched. @internal */
export interface Policy {
  passStarting(ledger: Ledger): void;
  /** The pass is over; what lives on is about to be recomputed. */
  passOver(): void;
  /** All that lives on is there. */
  passEnded?(): void;
  /** An op that is none of the executor's own is about to run; its inputs are there. */
  opComing?(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void;
  /** An op has run; `recipe` is undefined where it made nothing new, or nothing that can be recomputed. */
  opOver(op: OpDone, recipe: Recipe | undefined): void;
  bufferUnused(buffer: StoredBuffer): void;
  replaying(recipe: Recipe): void;
  /** JavaScript has made a storage, in a pass. */
  dataMade?(storage: Storage): void;
  /** Whether the ledger shall know of an op that has run; left out: of every one. It does so anyway where the op's output lies in a buffer that it knows. */
  isNoted?(op: OpDone): boolean;
  /** Whether the ledger need not know of what the op to come reads. */
  readonly passesNext?: boolean;
  /** An op has run that the ledger does not know of. */
  opPassed?(op: OpDone): void;
  /** A buffer that is evicted is touched; true if the policy has recomputed it. */
  recomputing?(buffer: StoredBuffer): boolean;
  /** Whether nothing is evicted now, so that the ledger need not know of ops. */
  readonly watchesOnly?: boolean;
}

/** What a forward and backward pass came to. */
export interface PassReport {
  /** The most bytes alive during the pass, by buffer: weights, inputs and gradients included. */
  readonly peakBytes: number;
  /** How many ops were recomputed, refreshed views included. */
  readonly recomputedOps: number;
  /** Milliseconds that this took, where kernels are done when they return. */
  readonly recomputedMs: number;
  /** How many buffers were evicted. */
  readonly evictions: number;
  /** How many buffers had to be recomputed because they were touched, not because the plan said so. */
  readonly recomputedOnTouch: number;
  /** Bytes that moved to host memory, and back. */
  readonly offloadedBytes: number;
  readonly reloadedBytes: number;
  /** Milliseconds that this took, in which no kernel ran. */
  readonly transferMs: number;
}

/** The innermost executor that is open keeps the ledger of a pass, and passes in that pass are part of it. */
let isPassRunning = false;

/**
 * A dispatch mode that runs each backward pass and each update with early release and keeps, for its duration, a ledger of recipes, from which a policy evicts data
 * and has it recomputed. Outside of `engine.gradients`, which is synchronous, nothing is ever evicted.
 *
 * @internal
 */
export class Executor implements DispatchObserver, DispatchInterceptor, DispatchPolicy {
  readonly looksInPassing = true;
  lastPass: PassReport | undefined;
  private ledger: Ledger | undefined;
  private startedMs = 0;
  /** Ops of the pass that are over. */
  private opCount = 0;
  /** By kernel of the current backend the input that it writes to. */
  private writesTo: Backend["writesTo"];
  private readonly listener: LedgerListener;
  protected readonly updates: UpdateReleaser = new UpdateReleaser(rehearsal);
  /** Of the backend on which the last pass has begun. */
  protected kept: KeptMemory | undefined;

  private readonly policy: Policy;
  readonly meter: MemoryMeter;
  /** Who follows a plan takes the gradients that were planned. */
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

  /** Saved tensors are not pruned besides: what nobody reads again is freed when the policy says so, and a prediction knows when that is. */
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

  /** What is recomputed reads weights as they were, and plans and budgets count on that they are. */
  get updatesInBackward(): boolean | undefined {
    return false;
  }

  /** In the middle of a pass: what is evicted is recomputed, since nobody would do so later. */
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
        // What is no tensor the engine will refuse.
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

  /** Whether a kernel is replayed. */
  protected get isReplaying(): boolean {
    return this.ledger?.isReplaying === true;
  }

  /** An op of the pass has run that was not watched. */
  protected opUnwatched(): void {
    this.opCount++;
  }

  /** Whether a forward or backward pass runs. */
  protected get isInPass(): boolean {
    return this.ledger !== undefined;
  }

  /** What is evicted is recomputed where it was made. */
  backendChanging(name: string): void {
    const current = getBackend();
    if (this.ledger === undefined || name === current) return;
    throw new RematError(
      "BACKEND_UNSUPPORTED",
      `the backend is switched from '${current}' to '${name}' in the middle of a forward and backward pass, whose data is evicted and recomputed on '${current}'. Expected one backend for the whole pass; switch before it or after it.`,
    );
  }

  opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    const { ledger, policy } = this;
    if (ledger !== undefined && !policy.watchesOnly && !ledger.isReplaying)
      this.prepare(ledger, kernel, inputs, attributes);
    // What was disposed of since the last op, and just now.
    this.kept?.settle();
    this.startedMs = performance.now();
  }

  private prepare(
    ledger: Ledger,
    kernel: string,
    inputs: KernelInputs,
    attributes: KernelAttributes | undefined,
  ): void {
    const { policy } = this;
    const written = this.writesTo?.get(kernel);
    if (written !== undefined) ledger.writing((inputs as Readonly<Record<string, TensorInfo>>)[written]);
    const locked = ledger.lock(inputs, policy.passesNext !== true);
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
      this.policy.opOver(op, ledger.note(op, performance.now() - this.startedMs, place));
    else this.policy.opPassed?.(op);
  }

  tensorRead(dataId: DataId): void {
    this.ledger?.touch(dataId);
  }

  /** What is recomputed from it must be what it was: on cpu, what is read is the data itself, and may be written to. */
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
