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

/** More than any step worth examining op by op has. A loop that never updates weights ends here. */
const mostOps = 400_000;

/** A step that is being recorded. */
interface OpenStep {
  readonly weights: string;
  readonly recorder: StepRecorder;
  /** Tracks the models that run in it. */
  readonly tracker: ModTracker;
  readonly close: CloseMode;
  readonly startedAt: number;
  /** The pass that it began with. */
  readonly pass: number;
  passes: number;
  isAssigned: boolean;
}

/** The parts of a program's recording. */
export interface RecordedProgram {
  readonly reporter: ThreadReporter;
  /** The program's models, if it has loaded tfjs-layers. */
  readonly models: () => ModelWatch | undefined;
  readonly held: HeldStorages;
  readonly lines: SourceLines;
  readonly guard: Guard;
}

/**
 * A dispatch mode that finds the training steps of a program and records the first ones. A step begins with the first
 * pass of `gradients` after an update of the weights and ends with their next update. The update may come from an
 * optimizer, in whatever way it is called. If the program assigns variables itself, the step ends when the next pass
 * begins. Steps are distinguished by the weights that they differentiate by and by their optimizer. Ops are watched
 * only while a step is recorded. The program's live memory is tracked from its start.
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
  /** Trace of the step in progress, for analysis if the process dies. */
  private readonly running: RunningTrace;
  /** Reports steps after those that are recorded. */
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
    // Guarded separately, so that remat's own error is reported. A `catch` around the pass would make Node name this
    // line as the place of the program's error.
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

  /** Returns the step that the pass belongs to, or undefined if recording is over. */
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
    const weights = `${call.xs[0]?.id} ${call.xs.at(-1)?.id} ${call.xs.length}`;
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

  /**
   * Keeps the recording of the broken pass until the next step. If the error is uncaught, it is reported when the
   * thread ends.
   */
  private passBroken(): void {
    this.running.keep();
    this.abandon();
  }

  /** Weights whose steps were already recorded may get another optimizer. */
  optimizerUpdateComing(optimizer: object): void {
    this.isUpdating = true;
    this.expect(optimizer);
  }

  optimizerStepDone(): void {
    this.isUpdating = false;
  }

  /** Notes that the program updates a weight itself. */
  variableAssigned({ trainable }: Variable): void {
    if (this.isInPass || this.isUpdating || !trainable) return;
    if (this.step !== undefined) this.step.isAssigned = true;
    else this.expect(undefined);
  }

  /** Writes everything recorded so far. A step in progress is dropped. */
  end(): void {
    if (this.step?.isAssigned) this.finish(undefined);
    this.abandon();
    for (const groups of this.groups.values()) for (const [optimizer, group] of groups) this.write(optimizer, group);
    this.reporter.write();
    this.running.close();
  }

  /** Ends immediately, in whatever state, and writes nothing more. */
  close(): void {
    this.step?.close();
    this.step = undefined;
    this.running.close();
  }

  /** Runs a pass of a step that has been recorded often enough. */
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

  /**
   * Reports an out-of-memory error and keeps the recording that led to it. It does so once, since the error passes
   * through every enclosing call.
   */
  failed(error: unknown, line?: string): void {
    const { now, reporter } = this;
    const text = textOf(error);
    const memory = text === undefined ? undefined : readMemoryError(text);
    if (text === undefined || memory === undefined || reporter.failure !== undefined) return;
    this.running.keep();
    // The error message may be about memory that a kernel takes in addition to its results.
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

/** Converts any thrown value to text. Returns undefined if it cannot be converted. */
function textOf(error: unknown): string | undefined {
  try {
    return String(error);
  } catch {
    return undefined;
  }
}

/** Runs the pass through the tracker and the recorder, which did not exist yet when the pass began. */
function beginPass({ recorder, tracker }: OpenStep, call: GradientsCall, next: RunGradients): GradientsResult {
  return tracker.gradients(call, () => recorder.gradients(call, next));
}
