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
import { dispose, type Tensor } from "@tensorflow/tfjs-core";
import { Executor } from "../executor/executor.js";
import { checkBackend } from "../executor/supported-backend.js";
import { MemoryMeter } from "../memory-meter.js";
import { describeOp, OnlinePolicy } from "../online/online-policy.js";
import { checkSubject, plannedGradients } from "../plan/apply-plan.js";
import { fingerprintOfSequence, sequenceOfTrace } from "../plan/op-sequence.js";
import { type Planning, planBeside } from "../planning/planning-thread.js";
import { stockUpdate } from "../update/rehearse-update.js";
import type { BudgetExecution, BudgetedStep, PlanningOutcome } from "./budget-execution.js";
import { BudgetPolicy } from "./budget-policy.js";
import { ExceededWatch } from "./exceeded-watch.js";
import { PassRecorder } from "./pass-recorder.js";
import { ReleasedMeter } from "./released-meter.js";
import { ResidentWatch } from "./resident-watch.js";
import { StockMeter } from "./stock-meter.js";

export interface MemoryBudgetOptions {
  /** Decide while the step runs, always; for control flow that differs from step to step. Default: only until there is a plan. */
  readonly online?: boolean;
  /** A plan to begin with, made before the first step, e.g. from a trace in fake mode. Followed while it fits, if it keeps the budget. */
  readonly plan?: Plan;
  /** How long a plan may take to be made, all in all, in milliseconds, for each new kind of step; 5000 if not given. */
  readonly planningMs?: number;
  /**
   * Whether what cannot be kept within the budget is refused by a `BudgetError`; true if not given. Else it runs all the same: `lastStep` tells what was beyond
   * the budget, and a warning says so, once in a process (Node, `BUDGET_EXCEEDED`).
   */
  readonly strict?: boolean;
}

/**
 * Runs `fn`, synchronous or not, with every training step in it within a budget of live bytes, by buffer: weights, gradients, optimizer slots, inputs
 * what is held to recompute others, and what kernels allocate for themselves included. Losses, gradients and weights are those of stock to the bit.
 *
 * The first step of each shape keeps the budget as it goes along (dynamic rematerialization) and is recorded; from that a plan is made in a thread
 * beside the training, and followed from when `fn` next awaits something, unless it would recompute more. A step that differs from every plan keeps the budget without
 * one and is planned in its turn. A budget in percent is a part of what stock takes: the first step runs with early release alone, which tells what stock would hold.
 *
 * Tensors keep to the budget; the process has the backend's library and JavaScript besides. Where its resident memory has grown by more than one and a
 * half times the budget and 64 MB, a warning says so, once in a process, with what to do (Node, `RESIDENT_OVER_BUDGET`).
 *
 * @throws BudgetError from the step that cannot be kept within the budget, naming the op that has no room and what it has room within; RematError
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
  /** What came of the last, when it is over. */
  private plannings: Promise<PlanningOutcome> = Promise.resolve({ kind: "none" });
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
  private readonly watched: ExceededWatch;
  private readonly budgetPolicy: BudgetPolicy;
  private readonly online: OnlinePolicy;

  constructor(
    meter: MemoryMeter,
    private readonly options: MemoryBudgetOptions,
  ) {
    const { strict: isStrict = true } = options;
    const online = new OnlinePolicy(Number.POSITIVE_INFINITY, meter, isStrict);
    const policy = new BudgetPolicy(online, meter);
    super(policy, meter, options.plan && plannedGradients(options.plan));
    this.online = online;
    this.budgetPolicy = policy;
    this.watched = new ExceededWatch(isStrict);
  }

  get lastStep(): BudgetedStep | undefined {
    const { exceeded } = this.watched;
    return this.lastPass && { ...this.lastPass, predictedBytes: this.budgetPolicy.predictedBytes, exceeded };
  }

  get planned(): Promise<PlanningOutcome> {
    this.isAwaited = this.planningCount > 0;
    this.planning?.ref();
    return this.plannings.then((outcome) => {
      const { exceeded } = this.watched;
      if (exceeded === undefined) return outcome;
      return { kind: "exceeded", op: exceeded.op, exceededBytes: exceeded.peakBytes - exceeded.budgetBytes };
    });
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
    if (this.isMeasuringStock || this.isReplaying) return;
    const { liveBytes } = this.meter;
    if (liveBytes > this.heldBytes) this.heldBytes = liveBytes;
    this.checkBudget(() => describeOp(op.kernel, op.inputs));
  }

  private checkBudget(op: () => string): void {
    if (this.budgetBytes !== undefined) this.watched.look(this.meter.knownPeakBytes, this.budgetBytes, op);
  }

  override get sharesOnes(): boolean {
    return !this.isMeasuringStock;
  }

  override get sharesSaved(): boolean {
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
    this.watched.passStarting();
    const result = this.keepWithin(call, next);
    this.checkPass(result);
    if (this.budgetBytes !== undefined) this.resident.look(this.budgetBytes);
    return result;
  }

  /** What lived on was recomputed at the end. */
  private checkPass({ value, grads }: GradientsResult): void {
    try {
      this.checkBudget(() => "the end of the forward and backward pass");
    } catch (error) {
      dispose([value, ...grads.filter((grad) => grad != null)]);
      throw error;
    }
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
    if (!this.isInPass || this.budgetPolicy.isOnline) this.countInputs(inputs);
    if (this.isInPass) super.opComing(kernel, inputs, attributes);
    else if (!this.isMeasuringStock) this.online.opComing(kernel, inputs, attributes);
  }

  /** What was there before counts as soon as it is met, lest too little room be made. */
  private countInputs(inputs: KernelInputs): void {
    for (const input of Object.values(inputs as Readonly<Record<string, Tensor | readonly Tensor[] | undefined>>))
      if (input != null) this.meter.count([input].flat() as Tensor[]);
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
    const { mostBytes, slotBytes } = call.isTfjs ? stockUpdate(call, this.meter) : { mostBytes: 0, slotBytes: 0 };
    this.keepPartOf(Math.max(this.stockPassBytes + slotBytes, this.meter.liveBytes + mostBytes));
    this.stockPassBytes = 0;
  }

  private keepPartOf(stockPeakBytes: number): void {
    this.stockPeakBytes = stockPeakBytes;
    this.keep(Math.floor((this.fraction ?? 1) * stockPeakBytes));
  }

  /** The pass releases early, and is counted as if it did not. */
  private measureStock(next: RunGradients): GradientsResult {
    const stock = new StockMeter(this.meter);
    const run = () => this.record(() => next());
    const result = withDispatchMode(stock, run);
    this.isMeasuringStock = false;
    this.stockPassBytes = stock.peakBytes;
    this.keepPartOf(this.stockPassBytes);
    // What it has taken until now is no fault of the budget's.
    this.resident.begin(this.meter.liveBytes);
    this.meter.reset();
    return result;
  }

  /** Runs a pass and makes a plan for others like it, unless it was planned already, or needs none. */
  private record(run: () => GradientsResult): GradientsResult {
    const isStock = this.isMeasuringStock;
    const recorder = new PassRecorder(() => this.isReplaying);
    const heldBytes = this.meter.liveBytes;
    const { result, released } = this.meterRelease(() =>
      withDispatchMode(recorder, () => {
        recorder.start();
        return run();
      }),
    );
    // A pass as planned is of another kind than that for which a record is wanted.
    if (!isStock && this.budgetPolicy.predictedBytes !== undefined) return result;
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
    const plan = async (): Promise<PlanningOutcome> => {
      await plannings;
      if (this.isClosed) return { kind: "none" };
      if (roomy !== undefined && budgetPolicy.hasRoomFor(roomy)) {
        this.kindsAsked.delete(kind);
        return { kind: "released" };
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
      const found = (await planning.planned) ?? unplanned;
      this.planning = undefined;
      if (!("script" in found)) return { kind: "online", ...found };
      budgetPolicy.add(ops, found, asked);
      // Should more be held one day, it is planned again.
      this.kindsAsked.delete(kind);
      return { kind: "planned", peakBytes: heldBytes + found.addedBytes };
    };
    this.planningCount++;
    // A pass that cannot be planned keeps the budget without a plan, and is not asked about again.
    this.plannings = plan()
      .catch((): PlanningOutcome => ({ kind: "online", ...unplanned }))
      .finally(() => {
        if (--this.planningCount === 0) this.isAwaited = false;
      });
  }
}

/** Of a thread that came to no end. */
const unplanned = { op: undefined, neededBytes: undefined } as const;
