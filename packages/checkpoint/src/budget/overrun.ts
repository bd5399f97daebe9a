import { currentBackend } from "@remat/dispatch-hook";
import { availableMemoryBytes } from "@remat/dispatch-hook/backends";
import { currentFakeBackend } from "@remat/dispatch-hook/fake";
import { deviceKind } from "@remat/memory";
import { backend, type Tensor } from "@tensorflow/tfjs-core";
import type { BudgetError } from "../budget-error.js";
import type { MemoryMeter } from "../memory-meter.js";
import { type LaterUpdates, noLaterUpdates } from "../update/rehearse-update.js";
import type { BudgetLimit } from "./budget-limit.js";
import { errorOf, type Shortage } from "./shortage.js";

/** Share of the available host memory that a pass may allocate beyond the budget. */
const shareOfAvailable = 0.5;

/**
 * A pass with an op that does not fit. It continues in as little memory as possible, and fails when it is over: only
 * then is it known which budget would have been enough.
 *
 * @internal
 */
export class Overrun {
  /** The op that needs the most. */
  private worst: Shortage | undefined;
  /** The largest need, without data that ops read later for the first time. */
  private neededBytes = 0;
  private minimization: object | undefined;
  private isInPass = false;
  /** Tensors that the pass has made since it exceeded the budget. */
  private readonly made: Tensor[] = [];

  private readonly limit: BudgetLimit;
  private readonly meter: MemoryMeter;

  constructor(limit: BudgetLimit, meter: MemoryMeter) {
    this.limit = limit;
    this.meter = meter;
  }

  /** True if the pass has exceeded the budget, and fails when it is over. */
  get isOn(): boolean {
    return this.worst !== undefined;
  }

  /**
   * A pass begins, in a call of `minimize` if that is given. An optimizer may run several passes in one call, of which
   * any may have exceeded the budget.
   */
  passStarting(minimization: object | undefined): void {
    if (minimization === undefined || minimization !== this.minimization) this.end();
    this.minimization = minimization;
    this.isInPass = true;
  }

  /** An op of the pass has made these tensors. */
  opOver(outputs: readonly Tensor[]): void {
    if (this.isOn && this.isInPass) this.made.push(...outputs);
  }

  /** The pass is over, and its last op has been checked. */
  passChecked(): void {
    this.isInPass = false;
  }

  /** Lets the pass continue over the budget. Returns false outside of a pass, and if memory may run out. */
  add(shortage: Shortage): boolean {
    const { meter, limit } = this;
    const { neededBytes } = shortage;
    if (!this.isInPass || !canAllocate(neededBytes - meter.liveBytes)) return false;
    if (this.worst === undefined || neededBytes > this.worst.neededBytes) this.worst = shortage;
    this.neededBytes = Math.max(this.neededBytes, neededBytes - meter.foundBytes);
    limit.overrunBytes = Math.max(limit.overrunBytes, neededBytes);
    return true;
  }

  /**
   * Returns the error of the finished pass. It names a budget for the pass, for its update, which needs `updateBytes`
   * more, and for later steps.
   */
  errorOfStep(updateBytes = 0, later: LaterUpdates = noLaterUpdates): BudgetError {
    const { meter } = this;
    const forPasses = this.neededBytes + meter.foundBytes + later.slotBytes;
    const forUpdates = meter.liveBytes + Math.max(updateBytes, later.mostBytes);
    return this.errorOf(Math.max(forPasses, forUpdates), true);
  }

  /** Returns the error of a pass that failed before its end, so that it may need more than is known. */
  errorSoFar(): BudgetError {
    return this.errorOf(this.neededBytes + this.meter.foundBytes, false);
  }

  private errorOf(neededBytes: number, isLast: boolean): BudgetError {
    const error = errorOf({ ...(this.worst as Shortage), neededBytes }, isLast);
    // For example, tfjs-layers keeps metrics, and disposes of them after the update.
    for (const tensor of this.made) if (tensor.kept) tensor.dispose();
    this.end();
    return error;
  }

  private end(): void {
    this.worst = undefined;
    this.made.length = 0;
    this.neededBytes = this.limit.overrunBytes = 0;
  }
}

/** On a CUDA device TensorFlow reports that memory runs out by an error. Other devices may be lost. */
function canAllocate(bytes: number): boolean {
  if (currentFakeBackend() !== undefined) return false;
  const kind = deviceKind(currentBackend().deviceOf(backend()).device);
  return kind === "cuda" || (kind === "cpu" && bytes <= shareOfAvailable * (availableMemoryBytes() ?? 0));
}
