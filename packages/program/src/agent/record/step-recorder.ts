import { type OpCall, type OpDone, registeredVariables, type Storage } from "@remat/dispatch-hook";
import { findBackend } from "@remat/dispatch-hook/backends";
import { kernelPeakBytes } from "@remat/dispatch-hook/fake";
import { optimizerSlots } from "@remat/mod-tracker";
import { Category, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import type { RunningStep } from "../../running-step.js";

/** An op that is about to run, with its largest single allocation, if known, and the user's line. */
export type StartingOp = Required<Pick<RunningStep, "op" | "opsBefore">> & Pick<RunningStep, "line" | "askedBytes">;

/** Receives events of a step in progress. `trace` returns the recording so far. */
export interface StepListener {
  opStarting(op: StartingOp, trace: () => Trace): void;
  opDone(trace: () => Trace): void;
  /** The kernel of the op that has started threw an error. */
  opFailed(error: unknown): void;
  /** The weights have been updated. */
  updated(optimizer: object): void;
}

/** Records one step of a program, with the time of each op in milliseconds. */
export class StepRecorder extends TraceRecorder {
  private readonly listener: StepListener;
  readonly opMs: number[] = [];
  private startedAt = 0;

  constructor(sourceLine: () => string | undefined, listener: StepListener) {
    super({ outside: false, sourceLine });
    this.listener = listener;
  }

  /**
   * Called when the mode is open. Weights, optimizer slots and everything else that the program keeps alive exist from
   * the beginning of the trace.
   */
  start(optimizers: Iterable<object>, held: Iterable<Storage>): void {
    const slots = new Set([...optimizers].flatMap(optimizerSlots));
    for (const slot of slots) this.categorizeTensor(slot, Category.optimizerState);
    for (const variable of registeredVariables())
      if (!slots.has(variable))
        this.categorizeTensor(variable, variable.trainable ? Category.parameter : Category.buffer);
    for (const storage of held) this.holdStorage(storage);
  }

  override opStarting(op: OpCall): void {
    super.opStarting(op);
    const { kernel, inputs, attributes, backend } = op;
    const askedBytes = kernelPeakBytes(findBackend(backend), kernel, inputs, attributes);
    const { line } = this;
    const opsBefore = this.opMs.length;
    const starting = {
      op: kernel,
      opsBefore,
      ...(line !== undefined && { line }),
      ...(askedBytes !== undefined && { askedBytes }),
    };
    this.listener.opStarting(starting, () => this.trace());
    this.startedAt = performance.now();
  }

  override opDone(op: OpDone): void {
    const ms = performance.now() - this.startedAt;
    super.opDone(op);
    this.opMs.push(ms);
    this.listener.opDone(() => this.trace());
  }

  opFailed(_op: OpCall, error: unknown): void {
    this.listener.opFailed(error);
  }

  override optimizerStepDone(optimizer?: object): void {
    super.optimizerStepDone();
    if (optimizer !== undefined) this.listener.updated(optimizer);
  }
}
