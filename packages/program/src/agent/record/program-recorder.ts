import {
  type CloseMode,
  type DispatchInterceptor,
  type DispatchObserver,
  type GradientsCall,
  type GradientsResult,
  isVariable,
  openDispatchMode,
  type RunGradients,
} from "@remat/dispatch-hook";
import { readMemoryError } from "@remat/memory/failure";
import { type ModelWatch, ModTracker } from "@remat/mod-tracker";
import type { Trace } from "@remat/trace";
import type { Variable } from "@tensorflow/tfjs-core";
import type { Guard } from "../../outside/guard.js";
import type { RecordOrder } from "../../program-order.js";
import type { RunningStep } from "../../running-step.js";
import type { SourceLines } from "../source/source-lines.js";
import type { ThreadReporter } from "../thread-reporter.js";
import type { HeldStorages } from "./held-storages.js";
import { RunningTrace } from "./running-trace.js";
import { StepGroup } from "./step-group.js";
import { type StepListener, StepRecorder } from "./step-recorder.js";
import { StepWatch } from "./step-watch.js";
import { writeStep } from "./write-step.js";

/** More than any step that is worth a look op by op; a loop that never updates weights ends here. */
const mostOps = 400_000;

/** A step that is being recorded. */
interface OpenStep {
  readonly weights: string;
  readonly recorder: StepRecorder;
  /** Of the models that run in it. */
  readonly tracker: ModTracker;
  readonly close: CloseMode;
  readonly startedAt: number;
  /** The pass that it began with. */
  readonly pass: number;
  passes: number;
  isAssigned: boolean;
}

/** What is known of the program, and who is told of it. */
export interface RecordedProgram {
  readonly reporter: ThreadReporter;
  /** Of the program's models, if it has loaded tfjs-layers. */
  readonly models: () => ModelWatch | undefined;
  readonly held: HeldStorages;
  readonly lines: SourceLines;
  readonly guard: Guard;
}

/**
 * A dispatch mode that finds the training steps of a program and records the first ones. A step begins with the first pass of `gradients` after an
 * update of weights, and ends with their next update: by an optimizer, however it is called, or where the program assigns variables itself,
 * when the next pass begins. Steps are told apart by the weights that they differentiate by, and by their optimizer. Until a step begins, and when all are
 * recorded, no op is watched; what the program holds counts from its start.
 */
export class ProgramRecorder implements DispatchObserver, DispatchInterceptor {
  whenOver: () => void = () => {};
  private readonly groups = new Map<string, Map<object | undefined, StepGroup>>();
  private readonly optimizers = new Set<object>();
  private step: OpenStep | undefined;
  private isInPass = false;
  private isUpdating = false;
  private lastWeights = "";
  private firstPassAt = 0;
  /** Of the step that goes on, for whoever finds the process dead. */
  private readonly running: RunningTrace;
  /** Of steps beyond those that are recorded. */
  private readonly watch: StepWatch | undefined;
  private atStart: RunningStep = { heldBytes: 0 };
  private now: RunningStep = this.atStart;

  private readonly reporter: ThreadReporter;
  private readonly models: RecordedProgram["models"];
  private readonly held: HeldStorages;
  private readonly lines: SourceLines;
  private readonly guard: Guard;

  private readonly order: RecordOrder;

  constructor(order: RecordOrder, { reporter, models, held, lines, guard }: RecordedProgram) {
    this.order = order;

    this.reporter = reporter;
    this.models = models;
    this.held = held;
    this.lines = lines;
    this.guard = guard;
    this.running = new RunningTrace(reporter.io);
    this.watch = order.watches && new StepWatch(reporter);
  }

  gradients(call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass || !call.xs.some(isVariable)) return next();
    // Guarded by itself, so that its own error is told: around the pass nobody can catch one without being named as the place of the program's.
    const coming = this.guard.run(() => this.passComing(call));
    if (coming === undefined) return next();
    if (coming === "unseen") return this.passUnseen(next);
    const { step, isFirst } = coming;
    this.isInPass = true;
    let isDone = false;
    try {
      const result = this.follow(step, isFirst ? () => beginPass(step, call, next) : next);
      isDone = true;
      this.reporter.failure = undefined;
      return result;
    } finally {
      this.isInPass = false;
      if (!isDone) this.guard.run(() => this.passBroken());
      else if (step.recorder.opMs.length > mostOps) this.guard.run(() => this.finish(undefined));
    }
  }

  /** Returns the step that the pass belongs to; undefined if recording is over. */
  private passComing(
    call: GradientsCall,
  ): { readonly step: OpenStep; readonly isFirst: boolean } | "unseen" | undefined {
    this.reporter.passes++;
    this.reporter.noteDevice();
    this.isUpdating = false;
    this.firstPassAt ||= performance.now();
    if (this.step?.isAssigned) this.finish(undefined);
    if (
      this.step === undefined &&
      this.watch === undefined &&
      performance.now() - this.firstPassAt > 1000 * this.order.seconds
    ) {
      this.whenOver();
      return undefined;
    }
    if (this.step === undefined) this.stepStarting();
    const weights = `${call.xs[0].id} ${call.xs.at(-1)?.id} ${call.xs.length}`;
    this.lastWeights = weights;
    const isFirst = this.step === undefined;
    if (isFirst && !this.isWanted(weights)) return "unseen";
    const step = (this.step ??= this.begin(weights));
    step.passes++;
    return { step, isFirst };
  }

  passFailed(error: unknown): void {
    if (this.isInPass) this.failed(error, this.lines.current());
  }

  /** What was recorded stays until the next step: what nobody catches is told once the thread ends. */
  private passBroken(): void {
    this.running.keep();
    this.abandon();
  }

  /** Weights whose steps are recorded may get another optimizer. */
  optimizerUpdateComing(optimizer: object): void {
    this.isUpdating = true;
    this.expect(optimizer);
  }

  optimizerStepDone(): void {
    this.isUpdating = false;
  }

  /** The program updates a weight by itself. */
  variableAssigned({ trainable }: Variable): void {
    if (this.isInPass || this.isUpdating || !trainable) return;
    if (this.step !== undefined) this.step.isAssigned = true;
    else this.expect(undefined);
  }

  /** Writes what has been recorded so far; of a step that is not over nothing. */
  end(): void {
    if (this.step?.isAssigned) this.finish(undefined);
    this.abandon();
    for (const groups of this.groups.values()) for (const [optimizer, group] of groups) this.write(optimizer, group);
    this.reporter.write();
    this.running.close();
  }

  /** Ends at once, whatever state it is in, and writes nothing more. */
  close(): void {
    this.step?.close();
    this.step = undefined;
    this.running.close();
  }

  /** A step of which enough were recorded. */
  private passUnseen(next: RunGradients): GradientsResult {
    this.isInPass = true;
    try {
      const result = next();
      this.reporter.failure = undefined;
      return result;
    } finally {
      this.isInPass = false;
    }
  }

  private stepStarting(): void {
    const { held, reporter } = this;
    held.stepStarting();
    this.atStart = {
      heldBytes: held.bytes,
      stepsBefore: reporter.passes - 1,
      ...(held.bytesPerStep !== undefined && { bytesPerStep: held.bytesPerStep }),
    };
    this.now = this.atStart;
    this.running.tell(this.now);
  }

  /** Tells an error that is one of memory, and keeps what led to it: once, since it is thrown on through all that is around it. */
  failed(error: unknown, line?: string): void {
    const { now, reporter } = this;
    const text = textOf(error);
    const memory = text === undefined ? undefined : readMemoryError(text);
    if (text === undefined || memory === undefined || reporter.failure !== undefined) return;
    this.running.keep();
    // What a kernel takes besides its results is what its message is of.
    const askedBytes = Math.max(now.askedBytes ?? 0, memory.askedBytes ?? 0);
    reporter.failure = {
      ...now,
      cause: memory.cause,
      message: text.replaceAll(/\s+/g, " "),
      ...(askedBytes > 0 && { askedBytes }),
      ...(line !== undefined && now.line === undefined && { line }),
    };
    reporter.write();
  }

  private expect(optimizer: object | undefined): void {
    const groups = this.groups.get(this.lastWeights);
    if (this.step === undefined && groups !== undefined && !groups.has(optimizer))
      groups.set(optimizer, new StepGroup());
  }

  private isWanted(weights: string): boolean {
    const groups = this.groups.get(weights);
    return (
      this.watch?.isDue === true ||
      groups === undefined ||
      [...groups.values()].some(({ steps }) => steps < this.order.steps)
    );
  }

  private begin(weights: string): OpenStep {
    const { running } = this;
    const write = (trace: () => Trace): void => {
      if (this.reporter.failure === undefined) running.write(trace());
    };
    const listener: StepListener = {
      opStarting: (op, trace) => {
        this.now = { ...this.atStart, ...op };
        running.tell(this.now);
        write(trace);
      },
      opDone: (trace) => {
        this.now = this.atStart;
        write(trace);
      },
      opFailed: (error) => this.failed(error),
      updated: (optimizer) => this.finish(optimizer),
    };
    running.begin();
    const recorder = this.guard.mode(new StepRecorder(() => this.lines.current(), listener));
    const closeRecorder = openDispatchMode(recorder);
    recorder.start(this.optimizers, this.held);
    const tracker = this.guard.mode(new ModTracker({ recorder }));
    const closeTracker = openDispatchMode(tracker);
    const close = () => {
      closeTracker();
      tracker.close();
      closeRecorder();
    };
    const { passes: pass } = this.reporter;
    return { weights, recorder, tracker, close, startedAt: performance.now(), pass, passes: 0, isAssigned: false };
  }

  private follow(step: OpenStep, run: () => GradientsResult): GradientsResult {
    const models = this.models();
    return models === undefined ? run() : models.follow(step.tracker, run);
  }

  private finish(optimizer: object | undefined): void {
    const { step } = this;
    // An optimizer may be called without a pass.
    if (step === undefined) return;
    const stepMs = performance.now() - step.startedAt;
    this.abandon();
    if (optimizer !== undefined) this.optimizers.add(optimizer);
    const groups = this.groups.get(step.weights) ?? new Map<object | undefined, StepGroup>();
    this.groups.set(step.weights, groups);
    const group = groups.get(optimizer) ?? new StepGroup();
    groups.set(optimizer, group);
    const { watch } = this;
    const isEnough = group.steps >= this.order.steps;
    if (isEnough && watch === undefined) return;
    const trace = step.recorder.trace();
    watch?.tell(trace, { pass: step.pass, optimizer, stepMs });
    if (isEnough) return;
    group.add({ trace, opMs: Float64Array.from(step.recorder.opMs), stepMs });
    if (group.steps === this.order.steps) this.write(optimizer, group);
  }

  private abandon(): void {
    this.step?.close();
    this.running.end();
    this.now = this.atStart;
    this.step = undefined;
  }

  private write(optimizer: object | undefined, group: StepGroup): void {
    if (group.isWritten || group.steps === 0) return;
    group.isWritten = true;
    const step = writeStep(this.reporter, group, optimizer, this.order);
    if (step !== undefined) this.reporter.add(step);
  }
}

/** Anything can be thrown: undefined for what cannot be written as text. */
function textOf(error: unknown): string | undefined {
  try {
    return String(error);
  } catch {
    return undefined;
  }
}

/** Neither recorder nor tracker was there yet when the pass began. */
function beginPass({ recorder, tracker }: OpenStep, call: GradientsCall, next: RunGradients): GradientsResult {
  return tracker.gradients(call, () => recorder.gradients(call, next));
}
