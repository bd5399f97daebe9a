import {
  currentBackend,
  type DispatchPolicy,
  type GradientsCall,
  type GradientsResult,
  hasFasterGradient,
  type KernelAttributes,
  type KernelInputs,
  type OpDone,
  type RunGradients,
  registeredVariables,
  type UpdateCall,
} from "@remat/dispatch-hook";
import { currentFakeBackend, kernelPeakBytes } from "@remat/dispatch-hook/fake";
import { eachLivingTensor, reconsiderPass } from "@remat/dispatch-hook/release";
import type { Budget } from "@remat/memory";
import { formatBytes } from "@remat/trace/text";
import { dispose, type Tensor } from "@tensorflow/tfjs-core";
import { askedGradients } from "../executor/asked-gradients.js";
import { Executor } from "../executor/executor.js";
import { KeptMemory } from "../kept-memory.js";
import { MemoryMeter } from "../memory-meter.js";
import { describeOp, type LaterSteps } from "../online/coming-work.js";
import { OnlinePolicy } from "../online/online-policy.js";
import { plannedGradients, plansOf } from "../plan/apply-plan.js";
import { refuseOffloading } from "../plan/check-offloading.js";
import { type LaterUpdates, noLaterUpdates, rehearseLaterUpdates } from "../update/rehearse-update.js";
import type { BudgetExecution, BudgetedStep, PlanningOutcome } from "./budget-execution.js";
import { BudgetLimit } from "./budget-limit.js";
import { BudgetPeaks } from "./budget-peaks.js";
import { BudgetPolicy } from "./budget-policy.js";
import { ExceededWatch } from "./exceeded-watch.js";
import type { MemoryBudgetOptions } from "./memory-budget-options.js";
import { Overrun } from "./overrun.js";
import { PassObserver } from "./pass-observer.js";
import { PassPlanner } from "./pass-planner.js";
import { ResidentWatch } from "./resident-watch.js";
import { errorOf, type Shortage } from "./shortage.js";
import { StockMeter } from "./stock-meter.js";
import type { StockShare } from "./stock-share.js";
import { StockUpdates } from "./stock-updates.js";
import { UnwatchedOp } from "./unwatched-op.js";
import { WantedRecords } from "./wanted-records.js";
import { warnOnce } from "./warning.js";

/** The dispatch mode that keeps training steps within a budget. See `withMemoryBudget`. @internal */
export class BudgetKeeper extends Executor implements BudgetExecution {
  private readonly wanted: WantedRecords;
  /** Key of the gradients that the last pass computes (see `askedGradients`). */
  private asked = "";
  /** True if the current pass measures unmodified TensorFlow.js. */
  private isMeasuring = false;
  private readonly stockUpdates = new StockUpdates();
  private readonly peaks = new BudgetPeaks();
  readonly resident: ResidentWatch = new ResidentWatch();
  private readonly limit: BudgetLimit;
  private readonly watched: ExceededWatch;
  private readonly overrun: Overrun;
  /** Result of the last pass, if the update of its `minimize` is yet to come. */
  private minimized: GradientsResult | undefined;
  private readonly budgetPolicy: BudgetPolicy;
  private readonly online: OnlinePolicy;
  private readonly planner: PassPlanner;
  private readonly observer: PassObserver;
  private readonly unwatched = new UnwatchedOp();

  private readonly options: MemoryBudgetOptions;

  /** @throws RematError `PLAN_SUBJECT` if the plan is not for a TensorFlow.js step */
  constructor(budget: Budget, options: MemoryBudgetOptions) {
    const { strict: isStrict = true, planningMs = 5000, plan } = options;
    const meter = new MemoryMeter();
    const limit = new BudgetLimit(budget);
    const online = new OnlinePolicy(limit, meter, isStrict, {
      settle: () => this.kept?.settle(),
      lift: (neededBytes) => this.lift(neededBytes),
      overrun: (shortage) => this.overrun.add(shortage),
      isOverrun: () => this.overrun.isOn,
      isRoomy: () => limit.share?.isRoomy === true,
      roomMade: (bytes) => {
        if (limit.bytes !== undefined) this.kept?.trimTo(limit.bytes - bytes);
      },
    });
    const policy = new BudgetPolicy(online, meter, limit);
    const plans = plan === undefined ? [] : plansOf(plan).map(refuseOffloading);
    super(policy, meter, plans.length === 0 ? undefined : plannedGradients(plans[0]));
    this.options = options;

    this.online = online;
    this.budgetPolicy = policy;
    this.wanted = new WantedRecords(policy);
    this.overrun = new Overrun(limit, meter);
    this.watched = new ExceededWatch(isStrict ? (shortage) => this.reject(shortage) : undefined);
    this.planner = new PassPlanner(policy, meter, planningMs, limit);
    this.observer = new PassObserver(meter, policy, () => this.isReplaying);
    for (const given of plans) policy.passes.addGiven(given);
    this.limit = limit;
  }

  get budgetBytes(): number | undefined {
    return this.limit.bytes;
  }

  get heldBytes(): number {
    return this.peaks.heldBytes;
  }

  get measuredPeakBytes(): number {
    return this.peaks.measuredBytes;
  }

  private get share(): StockShare | undefined {
    return this.limit.share;
  }

  get stockPeakBytes(): number | undefined {
    return this.share?.peakBytes;
  }

  get lastStep(): BudgetedStep | undefined {
    const { exceeded } = this.watched;
    const { predictedBytes, followedPlan } = this.budgetPolicy;
    return this.lastPass && { ...this.lastPass, predictedBytes, plan: followedPlan, exceeded };
  }

  get planned(): Promise<PlanningOutcome> {
    return this.planner.outcome.then((outcome) => {
      const { exceeded } = this.watched;
      if (exceeded === undefined) return outcome;
      return { kind: "exceeded", op: exceeded.op, exceededBytes: exceeded.peakBytes - exceeded.budgetBytes };
    });
  }

  closed(): void {
    this.planner.close();
  }

  get peakBytes(): number {
    return Math.max(this.peaks.mostBytes, this.meter.peakBytes);
  }

  override opOver(op: OpDone): void {
    super.opOver(op);
    if (this.budgetBytes !== undefined) this.kept?.trimTo(this.budgetBytes);
    if (this.isReplaying) return;
    this.overrun.opOver(op.outputs);
    if (this.isInPass || this.isMeasuring) this.share?.opOver(op);
    if (this.isMeasuring) return;
    this.peaks.hold(this.meter.liveBytes);
    if (this.isExceeded) this.checkBudget(() => describeOp(op.kernel, op.inputs));
  }

  /**
   * If early release alone keeps a pass within the budget, its ops need not be watched: its memory is known as long as
   * it runs the expected ops.
   */
  get isDozing(): boolean {
    return (
      this.isInPass && this.budgetPolicy.watchesOnly && this.kept === undefined && currentFakeBackend() === undefined
    );
  }

  kernelOver(kernel: string, inputs: KernelInputs, phase: number, made: Tensor | readonly Tensor[]): void {
    const { unwatched } = this;
    unwatched.begin(kernel, phase, made);
    this.opUnwatched();
    this.share?.opOver(unwatched);
    this.budgetPolicy.opForeseen(unwatched);
    if (!this.budgetPolicy.watchesOnly) this.wakeUp(kernel, inputs);
    unwatched.end();
  }

  /** The pass differs from the expected one, so the budget is enforced op by op from here on. */
  private wakeUp(kernel: string, inputs: KernelInputs): void {
    reconsiderPass();
    eachLivingTensor(this.meter.learn);
    for (const variable of registeredVariables()) this.meter.learn(variable);
    this.online.opUnforeseen(kernel, inputs);
    if (this.isExceeded) this.checkBudget(() => describeOp(kernel, inputs));
  }

  private get isExceeded(): boolean {
    const { bytes, overrunBytes } = this.limit;
    return bytes !== undefined && this.meter.knownPeakBytes > Math.max(bytes, overrunBytes);
  }

  /** Rejects an op that has exceeded the budget, now or, in a pass, when the pass is over. */
  private reject(shortage: Shortage): void {
    if (!this.overrun.add(shortage)) throw errorOf(shortage, false);
  }

  private checkBudget(op: () => string): void {
    if (!this.isExceeded) return;
    const budgetBytes = this.budgetBytes as number;
    const { knownPeakBytes } = this.meter;
    if (!this.lift(knownPeakBytes)) this.watched.look(knownPeakBytes, budgetBytes, op);
    else if (this.share?.isLifted === true) this.watched.note(knownPeakBytes, budgetBytes, op);
    else this.checkBudget(op);
  }

  /**
   * Returns whether memory is available after all because unmodified TensorFlow.js would use more than measured so far.
   * Everything alive between passes would also be alive in unmodified TensorFlow.js.
   */
  private lift(neededBytes: number): boolean {
    const { share, isInPass } = this;
    if (share === undefined) return false;
    const isRaised = !isInPass && share.raise(neededBytes);
    if (!isRaised && !share.lift(isInPass ? this.asked : undefined)) return false;
    this.limit.followShare();
    return true;
  }

  override get sharesOnes(): boolean {
    return !this.isMeasuring;
  }

  override get sharesSaved(): boolean {
    return !this.isMeasuring;
  }

  get prunesSaved(): boolean {
    return this.isMeasuring || this.budgetPolicy.prunesSaved;
  }

  override get fasterGradients(): DispatchPolicy["fasterGradients"] {
    return this.isMeasuring ? undefined : super.fasterGradients;
  }

  override gradients(call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass) return super.gradients(call, next);
    // A gradient inside a loss is part of the pass around it.
    if (this.isMeasuring) return next();
    this.asked = askedGradients(call);
    this.budgetPolicy.passComing(this.asked);
    this.peaks.mostBytes = this.peakBytes;
    this.watched.passStarting();
    if (this.share !== undefined) this.beginShare(this.share);
    if (this.share?.wants(this.asked) === true) return this.measureStock(this.share, next);
    // A budget may be opened before the backend's library is loaded. That memory does not count.
    this.resident.beginOnce(this.meter.liveBytes);
    this.overrun.passStarting(call.minimization);
    const result = this.runWithin(call, next);
    this.unwatched.passOver();
    this.learnOutcome(result);
    if (this.share?.passOver() === true) this.limit.followShare();
    this.checkPass(result);
    this.peaks.mostBytes = this.peakBytes;
    this.meter.reset();
    if (this.budgetBytes !== undefined) this.resident.look(this.budgetBytes);
    return this.orReject(call, result);
  }

  private runWithin(call: GradientsCall, next: RunGradients): GradientsResult {
    let hasFailed = true;
    // An error that was caught and thrown again would be reported with this line instead of its own.
    try {
      const result = this.keepWithin(call, next);
      hasFailed = false;
      return result;
    } finally {
      if (hasFailed) this.checkFailedPass();
    }
  }

  /** Throws a budget error in place of the error of a pass that has also exceeded the budget. */
  private checkFailedPass(): void {
    this.overrun.passChecked();
    if (this.overrun.isOn) throw this.overrun.errorSoFar();
  }

  /** Rejects a pass that has exceeded the budget. If an update follows, that is first predicted. */
  private orReject({ minimization }: GradientsCall, result: GradientsResult): GradientsResult {
    this.overrun.passChecked();
    this.minimized = minimization && result;
    if (!this.overrun.isOn || minimization !== undefined) return result;
    disposeOf(result);
    throw this.overrun.errorOfStep();
  }

  /** Unmodified TensorFlow.js would keep the same tensors alive between passes. */
  private beginShare(share: StockShare): void {
    const { meter } = this;
    if (share.raise(meter.peakBytes) && !share.isLifted) this.limit.followShare();
    share.passStarting(meter.liveBytes);
  }

  /** Recomputing surviving tensors at the end may exceed the budget. */
  private checkPass(result: GradientsResult): void {
    try {
      this.checkBudget(() => "the end of the forward and backward pass");
    } catch (error) {
      disposeOf(result);
      throw error;
    }
  }

  /** Counts the results of a pass whose ops were not watched. */
  private learnOutcome({ value, grads }: GradientsResult): void {
    const betweenBytes = this.budgetPolicy.foreseenBetweenBytes;
    if (betweenBytes === undefined) return;
    this.peaks.hold(betweenBytes);
    reconsiderPass();
    const { learn } = this.meter;
    learn(value);
    for (const grad of grads) if (grad != null) learn(grad);
    for (const variable of registeredVariables()) learn(variable);
  }

  private keepWithin(call: GradientsCall, next: RunGradients): GradientsResult {
    const run = () => super.gradients(call, next);
    const { wanted } = this;
    if (wanted.of === "none" || this.options.online === true) {
      const result = this.watch(run);
      wanted.notRecorded();
      return result;
    }
    const keptFromBytes = this.meter.liveBytes;
    const stock = this.share && new StockMeter(this.meter);
    const pass = { run, stock };
    const { result, released, trace } =
      wanted.of === "any" ? this.observer.record(pass) : this.observer.recordUnknown(pass);
    // A pass that followed its plan is not one that still needs a record.
    if (this.budgetPolicy.predictedBytes !== undefined) {
      this.budgetPolicy.checkPlan(released);
      wanted.recordedInVain();
      return result;
    }
    if (trace === undefined || this.overrun.isOn) {
      wanted.notRecorded();
      return result;
    }
    if (this.share !== undefined && stock !== undefined && this.share.seek(this.asked, stock.peakBytes)) {
      this.limit.followShare();
      return result;
    }
    if (this.planner.plan(trace, this.asked, { released, keptFromBytes })) wanted.of = "none";
    else wanted.recordedInVain();
    return result;
  }

  /** The first pass under a plan shows whether the plan is needed at all. */
  private watch(run: () => GradientsResult): GradientsResult {
    if (!this.budgetPolicy.passes.hasNewPlan) return run();
    const { result, released } = this.observer.meterRelease(run);
    this.budgetPolicy.checkPlan(released);
    return result;
  }

  override opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    // Existing inputs must be counted first, or too little memory is freed for the op.
    if (!this.isInPass || this.budgetPolicy.isOnline) this.meter.countInputs(inputs);
    else this.trimFor(kernel, inputs, attributes);
    if (this.isInPass) super.opComing(kernel, inputs, attributes);
    else if (!this.isMeasuring) this.online.opComing(kernel, inputs, attributes);
  }

  /** A plan leaves memory for the op itself, but not for freed memory that the allocator keeps. */
  private trimFor(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    const { kept, budgetBytes } = this;
    if (kept !== undefined && budgetBytes !== undefined)
      kept.trimTo(budgetBytes - (kernelPeakBytes(currentBackend(), kernel, inputs, attributes) ?? 0));
  }

  dataComing(bytes: number): void {
    if (this.isInPass) this.budgetPolicy.dataComing(bytes);
    else if (!this.isMeasuring) this.online.dataComing(bytes);
  }

  /** Rejects an update before it begins, so that no weights are left partly updated. */
  override applyGradients(call: UpdateCall, next: () => void): void {
    if (this.isInPass || this.isMeasuring || this.budgetBytes === undefined || currentFakeBackend() !== undefined)
      return next();
    const { minimized } = this;
    this.minimized = undefined;
    try {
      this.checkUpdate(call);
    } catch (error) {
      if (minimized !== undefined) disposeOf(minimized);
      throw error;
    }
    super.applyGradients(call, next);
  }

  private checkUpdate(call: UpdateCall): void {
    const { overrun, updates, online, meter } = this;
    if (this.share !== undefined) this.countUpdate(this.share, call);
    let expected = updates.expect(call, meter);
    if (overrun.isOn) throw overrun.errorOfStep(expected?.mostBytes, rehearseLaterUpdates(call, meter));
    if (expected !== undefined && !online.hasRoom(expected.mostBytes)) {
      // The figure may date from a time when the update could free less.
      updates.forget(call);
      expected = updates.expect(call, meter);
    }
    if (expected !== undefined)
      online.updateComing(call.optimizer, expected.mostBytes, () => this.laterSteps(rehearseLaterUpdates(call, meter)));
  }

  private laterSteps({ mostBytes, slotBytes }: LaterUpdates = noLaterUpdates): LaterSteps {
    const { lastPass, meter } = this;
    return { updateBytes: meter.liveBytes + mostBytes, passBytes: (lastPass?.peakBytes ?? 0) + slotBytes };
  }

  /** The peak of unmodified TensorFlow.js may be in the weight update. */
  private countUpdate(share: StockShare, call: UpdateCall): void {
    const bytes = this.stockUpdates.comingBytes(call, this.asked, this.meter);
    if (bytes !== undefined && share.raise(bytes)) this.limit.followShare();
  }

  /** Runs a pass with early release and counts it as if nothing were released early. */
  private measureStock(share: StockShare, next: RunGradients): GradientsResult {
    const { budgetBytes } = this;
    const wasLifted = share.isLifted;
    this.isMeasuring = true;
    this.kept = KeptMemory.here();
    try {
      const stock = new StockMeter(this.meter);
      const { result, trace, released } = this.observer.record({ run: next, stock });
      const { peakBytes, addedBytes } = stock;
      this.stockUpdates.passMeasured(peakBytes);
      const releasedBytes = released.addedBytes;
      if (share.add(this.asked, { trace, peakBytes, addedBytes, releasedBytes }) && budgetBytes !== undefined)
        this.budgetGrown(share, wasLifted);
      // Later passes use faster gradients, so their ops may differ from this record.
      this.wanted.of = trace.strings.some(hasFasterGradient) ? "any" : "none";
      if (this.wanted.of === "none" && this.options.online !== true) this.planner.plan(trace, this.asked, { released });
      return result;
    } finally {
      this.isMeasuring = false;
      this.lastPass = undefined;
      this.limit.followShare();
      // Memory used so far does not count against the budget.
      this.resident.begin(this.meter.liveBytes);
      if (budgetBytes === undefined) this.peaks.restart();
      this.peaks.measure(this.meter.peakBytes);
      this.meter.reset();
    }
  }

  /** The budget has grown. */
  private budgetGrown({ budgetBytes, peakBytes }: StockShare, warns: boolean): void {
    this.planner.planAnew();
    this.peaks.restart();
    if (warns) warnRaised(budgetBytes as number, peakBytes as number);
  }
}

function disposeOf({ value, grads }: GradientsResult): void {
  dispose([value, ...grads.filter((grad) => grad != null)]);
}

function warnRaised(budgetBytes: number, stockPeakBytes: number): void {
  warnOnce(
    "BUDGET_RAISED",
    `a step needs ${formatBytes(stockPeakBytes)} without remat, more than earlier steps. The budget is a share of that, and is now ${formatBytes(budgetBytes)}. For a fixed limit, give the budget in bytes.`,
  );
}
