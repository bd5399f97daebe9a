import {
  type DispatchMode,
  type GradientsCall,
  type GradientsResult,
  hasFasterGradient,
  isVariable,
  type KernelAttributes,
  type KernelInputs,
  type OpDone,
  openDispatchMode,
  type RunGradients,
  registeredVariables,
  type UpdateCall,
  withDispatchMode,
} from "@remat/dispatch-hook";
import { currentFakeBackend } from "@remat/fake";
import { type MemoryBudget, parseBudget } from "@remat/memory";
import type { Plan, Trace } from "@remat/trace";
import { Executor, type PassReport } from "../executor/executor.js";
import { checkBackend } from "../executor/supported-backend.js";
import { MemoryMeter } from "../memory-meter.js";
import { OnlinePolicy } from "../online/online-policy.js";
import { checkSubject, plannedGradients } from "../plan/apply-plan.js";
import { fingerprintOfSequence, sequenceOfTrace } from "../plan/op-sequence.js";
import { type Planning, planBeside } from "../planning/planning-thread.js";
import { stockUpdateBytes } from "../update/rehearse-update.js";
import { BudgetPolicy } from "./budget-policy.js";
import { PassRecorder } from "./pass-recorder.js";
import { ReleasedMeter } from "./released-meter.js";
import { ResidentWatch } from "./resident-watch.js";

export interface MemoryBudgetOptions {
  /** Decide while the step runs, always; for control flow that differs from step to step. Default: only until there is a plan. */
  readonly online?: boolean;
  /** A plan to begin with, made before the first step, e.g. from a trace in fake mode. Followed while it fits, if it keeps the budget. */
  readonly plan?: Plan;
  /** How long a plan may take to be made, all in all, in milliseconds, for each new kind of step; 5000 if not given. */
  readonly planningMs?: number;
}

/** A budget that is being kept. */
export interface BudgetExecution {
  /** In bytes; undefined until stock's peak is known, of which it is a part. */
  readonly budgetBytes: number | undefined;
  /** What stock takes at its peak; known where the budget is a part of that, from the first step on. */
  readonly stockPeakBytes: number | undefined;
  /** The most bytes alive between two ops, which is what the budget is of; of one that is a part of stock's peak, since the step that ran as stock. */
  readonly heldBytes: number;
  /** The most bytes alive at any moment: with what a kernel allocates for itself while it runs. */
  readonly peakBytes: number;
  /** Of the last forward and backward pass, and what its plan said that it would hold at most, if it followed one. */
  readonly lastStep: (PassReport & { readonly predictedBytes: number | undefined }) | undefined;
  /** Settled when no plan is being made. Who waits for it keeps the process alive, which ends without waiting for a plan otherwise. */
  readonly planned: Promise<void>;
}

/**
 * Runs `fn`, synchronous or not, with every training step in it within a budget of live bytes, by buffer: weights, gradients, optimizer slots, inputs
 * and what is held to recompute others included; a kernel's own scratch is outside. Losses, gradients and weights are those of stock to the bit.
 *
 * The first step of each shape keeps the budget as it goes along (dynamic rematerialization) and is recorded; from that a plan is made in a thread
 * beside the training, and followed from when `fn` next awaits something, unless it would recompute more. A step that differs from every plan keeps the budget without
 * one and is planned in its turn. A budget in percent is a part of what stock takes: the first step runs as stock, to see that.
 *
 * Tensors keep to the budget; the process has the backend's library and JavaScript besides. Where its resident memory has grown by more than one and a
 * half times the budget and 64 MB, a warning says so, once in a process, with what to do (Node, `RESIDENT_OVER_BUDGET`).
 *
 * @throws BudgetError from the step that cannot be kept within the budget, naming the smallest that works and the op that binds; RematError
 * `BUDGET` for what is no budget, `BACKEND_UNSUPPORTED` on backends other than native, wasm and cpu
 * @example
 * await withMemoryBudget("2GB", () => model.fit(x, y, { epochs: 3 }));
 */
export function withMemoryBudget<T>(
  budget: MemoryBudget,
  fn: (execution: BudgetExecution) => T,
  options: MemoryBudgetOptions = {},
): T {
  const keeper = keeperOf(budget, options);
  checkBackend();
  return withDispatchMode(keeper, () => {
    keeper.meter.count(registeredVariables());
    keeper.resident.begin(keeper.meter.liveBytes);
    return fn(keeper);
  });
}

/** A budget that is kept until it is closed. */
export interface OpenBudget {
  readonly execution: BudgetExecution;
  /** Ends it: the engine is as before. A second call does nothing. */
  close(): void;
}

/**
 * Keeps every training step from here on within a budget, as `withMemoryBudget` does, until it is closed. May be opened before a backend is there: it
 * is asked about when the first step begins.
 *
 * @throws RematError `BUDGET` for what is no budget; steps throw what they do in `withMemoryBudget`
 * @example
 * const { execution, close } = openMemoryBudget("2GB");
 * await model.fit(x, y);
 * close();
 */
export function openMemoryBudget(budget: MemoryBudget, options: MemoryBudgetOptions = {}): OpenBudget {
  const execution = keeperOf(budget, options);
  const close = openDispatchMode(execution);
  execution.meter.count(registeredVariables());
  return { execution, close };
}

function keeperOf(budget: MemoryBudget, options: MemoryBudgetOptions): BudgetKeeper {
  const parsed = parseBudget(budget);
  const keeper = new BudgetKeeper(new MemoryMeter(), options);
  if (options.plan !== undefined) keeper.begin(options.plan);
  if ("bytes" in parsed) keeper.keep(parsed.bytes);
  else keeper.keepFractionOfStock(parsed.fraction);
  return keeper;
}

class BudgetKeeper extends Executor implements BudgetExecution {
  budgetBytes: number | undefined;
  stockPeakBytes: number | undefined;
  heldBytes = 0;
  /** When the last is over. */
  private plannings: Promise<void> = Promise.resolve();
  private planningCount = 0;
  /** Of these, the one that is being made. */
  private planning: Planning | undefined;
  private isAwaited = false;
  private isClosed = false;
  private fraction: number | undefined;
  private wantsRecord = true;
  /** The gradients that the last pass was asked for: of variables by name, of other tensors by shape. */
  private asked = "";
  private isMeasuringStock = false;
  /** Fingerprints of the passes for which a plan is being made, or cannot be. */
  private readonly kindsAsked = new Set<string>();
  /** Stock's, of the first pass, until the update after it is known. */
  private stockPassBytes = 0;
  /** Before the pass, or since the last one. */
  private mostBytes = 0;
  readonly resident: ResidentWatch = new ResidentWatch();
  private readonly budgetPolicy: BudgetPolicy;
  private readonly online: OnlinePolicy;

  constructor(
    meter: MemoryMeter,
    private readonly options: MemoryBudgetOptions,
  ) {
    const online = new OnlinePolicy(Number.POSITIVE_INFINITY, meter);
    const policy = new BudgetPolicy(online, meter);
    super(policy, meter, options.plan && plannedGradients(options.plan));
    this.online = online;
    this.budgetPolicy = policy;
  }

  get lastStep(): BudgetExecution["lastStep"] {
    return this.lastPass && { ...this.lastPass, predictedBytes: this.budgetPolicy.predictedBytes };
  }

  get planned(): Promise<void> {
    this.isAwaited = this.planningCount > 0;
    this.planning?.ref();
    return this.plannings;
  }

  /** Nobody follows what is planned after the end. */
  override closed(): void {
    super.closed();
    this.isClosed = true;
    this.planning?.end();
  }

  get peakBytes(): number {
    return Math.max(this.mostBytes, this.meter.peakBytes);
  }

  override opOver(op: OpDone): void {
    super.opOver(op);
    const { liveBytes } = this.meter;
    if (liveBytes > this.heldBytes && !this.isMeasuringStock) this.heldBytes = liveBytes;
  }

  override get releasesEarly(): boolean {
    return !this.isMeasuringStock;
  }

  override get fasterGradients(): DispatchMode["fasterGradients"] {
    return this.isMeasuringStock ? undefined : super.fasterGradients;
  }

  begin(plan: Plan): void {
    checkSubject(plan);
    this.budgetPolicy.addGiven(plan);
  }

  keep(budgetBytes: number): void {
    this.budgetBytes = budgetBytes;
    this.online.budgetBytes = budgetBytes;
  }

  keepFractionOfStock(fraction: number): void {
    this.fraction = fraction;
    this.isMeasuringStock = true;
  }

  override gradients(call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass) return super.gradients(call, next);
    this.asked = call.xs.map((x) => (isVariable(x) ? x.name : x.shape.join("x"))).join(" ");
    this.budgetPolicy.passComing(this.asked);
    if (this.isMeasuringStock) return this.measureStock(next);
    // A budget may be opened before the backend's library is there, which is not the budget's.
    this.resident.beginOnce(this.meter.liveBytes);
    this.mostBytes = this.peakBytes;
    const result = this.keepWithin(call, next);
    if (this.budgetBytes !== undefined) this.resident.look(this.budgetBytes);
    return result;
  }

  private keepWithin(call: GradientsCall, next: RunGradients): GradientsResult {
    if (!this.wantsRecord || this.options.online === true) {
      const result = this.watch(() => super.gradients(call, next));
      this.wantsRecord = this.budgetPolicy.predictedBytes === undefined;
      return result;
    }
    return this.record(() => super.gradients(call, next));
  }

  /** The first pass under a plan tells whether it needs one. */
  private watch(run: () => GradientsResult): GradientsResult {
    if (!this.budgetPolicy.hasNewPlan) return run();
    const { result, released } = this.meterRelease(run);
    this.budgetPolicy.checkPlan(released);
    return result;
  }

  override opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    if (this.isInPass) super.opComing(kernel, inputs, attributes);
    else if (!this.isMeasuringStock) this.online.opComing(kernel, inputs, attributes);
  }

  dataComing(bytes: number): void {
    if (this.isInPass) this.budgetPolicy.dataComing(bytes);
    else if (!this.isMeasuringStock) this.online.dataComing(bytes);
  }

  /** Refused before it begins, lest weights be updated in part. */
  override applyGradients(call: UpdateCall, next: () => void): void {
    if (this.isInPass || this.isMeasuringStock || currentFakeBackend() !== undefined) return next();
    if (this.stockPassBytes > 0) this.countUpdates(call);
    let expected = this.updates.expect(call, this.meter);
    if (expected !== undefined && !this.online.hasRoom(expected.mostBytes)) {
      // It may have been told of when there was less that it frees.
      this.updates.forget(call);
      expected = this.updates.expect(call, this.meter);
    }
    if (expected !== undefined) this.online.updateComing(call.optimizer, expected.mostBytes);
    super.applyGradients(call, next);
  }

  /** Stock's peak may be in the updates of the weights; when the second begins, all slots are there. */
  private countUpdates(call: UpdateCall): void {
    const bytes = call.isTfjs ? stockUpdateBytes(call, this.meter, 2) : 0;
    this.keepPartOf(Math.max(this.stockPassBytes, this.meter.liveBytes + bytes));
    this.stockPassBytes = 0;
  }

  private keepPartOf(stockPeakBytes: number): void {
    this.stockPeakBytes = stockPeakBytes;
    this.keep(Math.floor((this.fraction ?? 1) * stockPeakBytes));
  }

  private measureStock(next: RunGradients): GradientsResult {
    this.meter.reset();
    const result = this.record(
      () => next(),
      () => {
        this.isMeasuringStock = false;
        this.stockPassBytes = this.meter.peakBytes;
        this.keepPartOf(this.stockPassBytes);
        // What stock has taken is no fault of the budget's.
        this.resident.begin(this.meter.liveBytes);
      },
    );
    this.meter.reset();
    return result;
  }

  /** Runs a pass and makes a plan for others like it, unless it was planned already, or needs none. */
  private record(run: () => GradientsResult, over: () => void = () => {}): GradientsResult {
    const isStock = this.isMeasuringStock;
    const recorder = new PassRecorder(() => this.isReplaying);
    const heldBytes = this.meter.liveBytes;
    const { result, released } = this.meterRelease(() =>
      withDispatchMode(recorder, () => {
        recorder.start();
        return run();
      }),
    );
    over();
    // A pass as planned is of another kind than that for which a record is wanted.
    if (this.budgetPolicy.predictedBytes !== undefined) return result;
    this.wantsRecord = false;
    if (this.options.online === true) return result;
    const trace = recorder.stop();
    // Those that follow take other ops.
    if (isStock && trace.strings.some(hasFasterGradient)) this.wantsRecord = true;
    else if (isStock) this.plan(trace);
    else this.plan(trace, { released, heldBytes });
    return result;
  }

  /** Counts besides what the pass would hold with early release alone. */
  private meterRelease(run: () => GradientsResult): { result: GradientsResult; released: ReleasedMeter } {
    const released = new ReleasedMeter(this.meter);
    this.budgetPolicy.onUnused = ({ storage }) => released.bufferUnused(storage);
    try {
      return { result: withDispatchMode(released, run), released };
    } finally {
      this.budgetPolicy.onUnused = undefined;
    }
  }

  /** @param without what the pass has held, and what was held when it began, if it has been kept within the budget without a plan */
  private plan(trace: Trace, without?: { readonly released: ReleasedMeter; readonly heldBytes: number }): void {
    const { planningMs = 5000 } = this.options;
    const { plannings, asked, budgetPolicy } = this;
    const ops = sequenceOfTrace(trace);
    const kind = fingerprintOfSequence(ops);
    const roomy = without?.released.roomyPass(ops);
    if (roomy !== undefined) budgetPolicy.addRoomy(kind, roomy);
    if (this.kindsAsked.has(kind)) return;
    this.kindsAsked.add(kind);
    const { recomputedOps } = budgetPolicy;
    // The step goes on to update the weights; an optimizer's slots are there when it is over.
    const plan = async (): Promise<void> => {
      await plannings;
      if (this.isClosed) return;
      if (roomy !== undefined && budgetPolicy.hasRoomFor(roomy)) {
        this.kindsAsked.delete(kind);
        return;
      }
      const heldBytes = this.meter.liveBytes;
      // With less held, more room was left.
      const isAsFull = without !== undefined && without.heldBytes >= heldBytes;
      const planning = planBeside({
        trace,
        heldBytes,
        budgetBytes: this.budgetBytes as number,
        planningMs,
        recomputedAnyway: isAsFull ? recomputedOps : undefined,
      });
      this.planning = planning;
      if (this.isAwaited) planning.ref();
      const found = await planning.planned;
      this.planning = undefined;
      if (found === undefined) return;
      budgetPolicy.add(ops, found, asked);
      // Should more be held one day, it is planned again.
      this.kindsAsked.delete(kind);
    };
    this.planningCount++;
    // A pass that cannot be planned keeps the budget without a plan, and is not asked about again.
    this.plannings = plan()
      .catch(() => {})
      .finally(() => {
        if (--this.planningCount === 0) this.isAwaited = false;
      });
  }
}
