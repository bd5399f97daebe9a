import {
  currentBackend,
  type DispatchPolicy,
  type GradientsCall,
  type GradientsResult,
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
import { dispose, type Tensor } from "@tensorflow/tfjs-core";
import { askedGradients } from "../executor/asked-gradients.js";
import { Executor } from "../executor/executor.js";
import { KeptMemory } from "../kept-memory.js";
import { MemoryMeter } from "../memory-meter.js";
import { describeOp } from "../online/coming-work.js";
import { OnlinePolicy } from "../online/online-policy.js";
import { plannedGradients, plansOf } from "../plan/apply-plan.js";
import { refuseOffloading } from "../plan/check-offloading.js";
import type { BudgetExecution, BudgetedStep, PlanningOutcome } from "./budget-execution.js";
import { BudgetLimit } from "./budget-limit.js";
import { BudgetPeaks } from "./budget-peaks.js";
import { BudgetPolicy } from "./budget-policy.js";
import { ExceededWatch } from "./exceeded-watch.js";
import type { MemoryBudgetOptions } from "./memory-budget-options.js";
import { Overrun } from "./overrun.js";
import { PassObserver } from "./pass-observer.js";
import { RecordedPasses } from "./recorded-passes.js";
import { ResidentWatch } from "./resident-watch.js";
import { errorOf, type Shortage } from "./shortage.js";
import { StockMeasurement } from "./stock-measurement.js";
import { UnwatchedOp } from "./unwatched-op.js";
import { UpdateCheck } from "./update-check.js";

/** The dispatch mode that keeps training steps within a budget. See `withMemoryBudget`. @internal */
export class BudgetKeeper extends Executor implements BudgetExecution {
  /** Key of the gradients that the last pass computes (see `askedGradients`). */
  private asked = "";
  /** Result of the last pass, if the update of its `minimize` is yet to come. */
  private minimized: GradientsResult | undefined;
  private readonly limit: BudgetLimit;
  private readonly budgetPolicy: BudgetPolicy;
  private readonly online: OnlinePolicy;
  private readonly records: RecordedPasses;
  /** Measures the base of a budget in percent. Undefined for a budget in bytes. */
  private readonly stock: StockMeasurement | undefined;
  private readonly overrun: Overrun;
  private readonly watched: ExceededWatch;
  private readonly updateCheck: UpdateCheck;
  private readonly peaks = new BudgetPeaks();
  readonly resident: ResidentWatch = new ResidentWatch();
  private readonly unwatched = new UnwatchedOp();

  /** @throws RematError `PLAN_SUBJECT` if the plan is not for a TensorFlow.js step */
  constructor(budget: Budget, options: MemoryBudgetOptions) {
    const { strict: isStrict = true, planningMs = 5000, online: isOnline = false, plan } = options;
    const meter = new MemoryMeter();
    const limit = new BudgetLimit(budget);
    const online = new OnlinePolicy(limit, meter, isStrict, {
      settle: () => this.kept?.settle(),
      lift: (neededBytes) => limit.lift(neededBytes, this.askedNow),
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
    for (const given of plans) policy.passes.addGiven(given);
    const observer = new PassObserver(meter, policy, () => this.isReplaying);
    this.limit = limit;
    this.budgetPolicy = policy;
    this.online = online;
    this.records = new RecordedPasses(policy, observer, meter, limit, { planningMs, online: isOnline });
    if (limit.share !== undefined)
      this.stock = new StockMeasurement(limit.share, limit, meter, observer, this.records, {
        peaks: this.peaks,
        resident: this.resident,
      });
    this.overrun = new Overrun(limit, meter);
    this.watched = new ExceededWatch(limit, meter, isStrict ? (shortage) => this.reject(shortage) : undefined);
    this.updateCheck = new UpdateCheck(this.updates, online, this.overrun, meter);
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

  get stockPeakBytes(): number | undefined {
    return this.limit.share?.peakBytes;
  }

  get lastStep(): BudgetedStep | undefined {
    const { exceeded } = this.watched;
    const { predictedBytes, followedPlan } = this.budgetPolicy;
    return this.lastPass && { ...this.lastPass, predictedBytes, plan: followedPlan, exceeded };
  }

  get planned(): Promise<PlanningOutcome> {
    return this.records.outcome.then((outcome) => {
      const { exceeded } = this.watched;
      if (exceeded === undefined) return outcome;
      return { kind: "exceeded", op: exceeded.op, exceededBytes: exceeded.peakBytes - exceeded.budgetBytes };
    });
  }

  closed(): void {
    this.records.close();
  }

  /** True if the current pass measures unmodified TensorFlow.js. */
  private get isMeasuring(): boolean {
    return this.stock?.isRunning === true;
  }

  /** Key of the gradients that the current pass computes. Undefined between passes. */
  private get askedNow(): string | undefined {
    return this.isInPass ? this.asked : undefined;
  }

  get peakBytes(): number {
    return Math.max(this.peaks.mostBytes, this.meter.peakBytes);
  }

  override opOver(op: OpDone): void {
    super.opOver(op);
    if (this.budgetBytes !== undefined) this.kept?.trimTo(this.budgetBytes);
    if (this.isReplaying) return;
    this.overrun.opOver(op.outputs);
    if (this.isInPass || this.isMeasuring) this.stock?.opOver(op);
    if (this.isMeasuring) return;
    this.peaks.hold(this.meter.liveBytes);
    if (this.watched.isOver) this.watched.check(this.askedNow, () => describeOp(op.kernel, op.inputs));
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
    this.stock?.opOver(unwatched);
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
    if (this.watched.isOver) this.watched.check(this.askedNow, () => describeOp(kernel, inputs));
  }

  /** Rejects an op that has exceeded the budget, now or, in a pass, when the pass is over. */
  private reject(shortage: Shortage): void {
    if (!this.overrun.add(shortage)) throw errorOf(shortage, false);
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
    this.stock?.passStarting();
    if (this.stock?.wants(this.asked) === true) return this.measureStock(this.stock, next);
    // A budget may be opened before the backend's library is loaded. That memory does not count.
    this.resident.beginOnce(this.meter.liveBytes);
    this.overrun.passStarting(call.minimization);
    const result = this.runWithin(call, next);
    this.unwatched.passOver();
    this.learnOutcome(result);
    this.stock?.passOver();
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
      const result = this.records.run(
        this.asked,
        () => super.gradients(call, next),
        () => this.overrun.isOn,
      );
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

  /** Recomputing surviving tensors at the end may exceed the budget. */
  private checkPass(result: GradientsResult): void {
    try {
      this.watched.check(this.askedNow, () => "the end of the forward and backward pass");
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
      this.stock?.updateComing(call, this.asked);
      this.updateCheck.check(call, () => this.lastPass);
    } catch (error) {
      if (minimized !== undefined) disposeOf(minimized);
      throw error;
    }
    super.applyGradients(call, next);
  }

  private measureStock(stock: StockMeasurement, next: RunGradients): GradientsResult {
    this.kept = KeptMemory.here();
    try {
      return stock.measure(this.asked, next);
    } finally {
      this.lastPass = undefined;
    }
  }
}

function disposeOf({ value, grads }: GradientsResult): void {
  dispose([value, ...grads.filter((grad) => grad != null)]);
}
