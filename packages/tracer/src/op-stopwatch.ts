import { type DispatchObserver, type OpDone, withDispatchModeSync } from "@remat/dispatch-hook";
import { Phase, RematError, type Trace } from "@remat/trace";
import { quantile } from "./quantile.js";
import type { StepClock } from "./step-clock.js";
import { withMeasuredTimes } from "./with-measured-times.js";

/** Measured times of a step and of its ops. */
export interface StepTimes {
  /**
   * The trace with the median runtime of each op as `RuntimeSource.measured`, half the interquartile range, and the
   * number of steps. In each step, different ops are slow, so the medians add up to less than a step. All are scaled by
   * one factor, so that they add up to the median of the total time in ops.
   */
  readonly trace: Trace;
  /**
   * Median time of a step outside of ops, in milliseconds, for the first strategy. It covers JavaScript of
   * TensorFlow.js, your own code, and arrays that JavaScript fills.
   */
  readonly hostMs: number;
  /** `hostMs` of each strategy. */
  readonly hostMsByWay: readonly number[];
}

/** A strategy to run a step. All strategies run the same ops, for example under different modes. */
export interface StepWay {
  /** Opens everything that must be open around a step, such as `releaseEarly`. Returns a function that closes it. */
  readonly open: () => () => void;
  /**
   * The timed work: each op, the step as a whole without watching ops, or both in turns. Default: each op. Watching
   * takes some microseconds per op. This time belongs to the step only if training also watches ops, for example under
   * a plan.
   */
  readonly times?: "ops" | "step" | "both";
}

/**
 * Times the ops of steps, given their trace. {@link timeStep} also runs the steps. Use this class if you run them
 * yourself.
 *
 * @example
 * const stopwatch = new OpStopwatch(trace);
 * stopwatch.time(() => step());
 * const { trace: timed, hostMs } = stopwatch.times();
 */
export class OpStopwatch implements DispatchObserver {
  private readonly trace: Trace;
  private readonly samples: Float64Array[] = [];
  /** Milliseconds outside of ops by strategy, in steps whose ops were timed. */
  private readonly besideOps: number[][] = [];
  /** Milliseconds of whole steps by strategy, in steps whose ops were not timed. */
  private readonly wholeSteps: number[][] = [];
  private running: Float64Array;
  private next = 0;
  private startedAt = 0;
  private isTiming = false;
  private opClockAtStart = 0;
  private readonly clock: StepClock;
  private readonly opClock: StepClock | undefined;

  /**
   * @param trace the trace of the step
   * @param clock times whole steps, for example by CPU time; default: wall time
   * @param opClock also times each op, which then takes the shorter of this time and wall time. Default: each op gets
   *   its share of the step's time
   */
  constructor(trace: Trace, clock: StepClock = () => performance.now(), opClock?: StepClock) {
    this.trace = trace;
    this.clock = clock;
    this.opClock = opClock;
    this.running = new Float64Array(trace.ops.count);
  }

  /**
   * Runs one step, times its ops, and returns its time in milliseconds. Steps may run the same ops under different
   * strategies (see {@link StepWay}). `way` is the index of the strategy.
   *
   * @throws RematError `STEP_MISMATCH` if the step does not run the trace's ops; also any error of the step
   */
  time(step: () => void, way: number = 0): number {
    const { trace } = this;
    this.next = 0;
    this.running = new Float64Array(trace.ops.count);
    this.isTiming = true;
    const start = performance.now();
    const begun = this.clock();
    try {
      withDispatchModeSync(this, step);
    } finally {
      this.isTiming = false;
    }
    const wallMs = performance.now() - start;
    const ms = this.sinceOrWall(begun, wallMs);
    if (this.next < trace.ops.count) throw mismatch(this.next, this.expected(this.next), undefined);
    const share = wallMs > 0 && this.opClock === undefined ? ms / wallMs : 1;
    for (let op = 0; op < this.running.length; op++) this.running[op] *= share;
    this.samples.push(this.running);
    note(this.besideOps, way, ms - sumOf(this.running));
    return ms;
  }

  /**
   * Runs one step without timing its ops, and returns its time in milliseconds. The time outside of ops is computed
   * from such steps.
   */
  timeWhole(step: () => void, way: number = 0): number {
    const start = performance.now();
    const begun = this.clock();
    step();
    const ms = this.sinceOrWall(begun, performance.now() - start);
    note(this.wholeSteps, way, ms);
    return ms;
  }

  /**
   * Returns functions that each run and time one step. The strategies take turns of `inARow` steps. Warm up in the
   * first strategy before. After a change of strategy, the first step does not count. It may take 10% longer, because
   * the memory that the other strategy left does not suit it.
   */
  turn(ways: readonly StepWay[], inARow = 1): readonly ((step: () => void) => number)[] {
    let current = 0;
    return ways.flatMap(({ open, times = "ops" }, way) => {
      const inWay = (run: (step: () => void, way: number) => number) => (step: () => void) => {
        const close = open();
        try {
          if (current !== way) step();
          current = way;
          return run.call(this, step, way);
        } finally {
          close();
        }
      };
      const [ops, whole] = [inWay(this.time), inWay(this.timeWhole)];
      const timed = { ops: [ops], step: [whole], both: [ops, whole] }[times];
      return Array.from({ length: inARow }, () => timed).flat();
    });
  }

  /** CPU time includes threads that compile or collect garbage beside the step, so it is limited by wall time. */
  private sinceOrWall(begun: number, wallMs: number): number {
    return Math.min(wallMs, Math.max(0, this.clock() - begun));
  }

  /** Forgets the steps so far. */
  reset(): void {
    this.samples.length = 0;
    this.besideOps.length = 0;
    this.wholeSteps.length = 0;
  }

  /** Returns medians over the steps. An op's median is taken over the steps of all strategies (see {@link StepWay}). */
  times(): StepTimes {
    const { samples, besideOps, wholeSteps, trace } = this;
    const opsMs = quantile(samples.map(sumOf), 0.5);
    const timed = withMeasuredTimes(trace, samples);
    const hostMsByWay = Array.from({ length: Math.max(besideOps.length, wholeSteps.length) }, (_, way) => {
      const { [way]: whole = [] } = wholeSteps;
      return whole.length > 0 ? quantile(whole, 0.5) - opsMs : quantile(besideOps[way], 0.5);
    });
    return { trace: timed, hostMs: hostMsByWay[0], hostMsByWay };
  }

  /** Starts the time of an op. */
  opStarting(): void {
    this.opClockAtStart = this.opClock?.() ?? 0;
    this.startedAt = performance.now();
  }

  /** Ends the time of an op, after checking that it is the expected one. */
  opDone({ kernel, phase }: OpDone): void {
    const wallMs = performance.now() - this.startedAt;
    const ms = this.opClock === undefined ? wallMs : Math.min(wallMs, this.opClock() - this.opClockAtStart);
    if (!this.isTiming || phase === Phase.outside) return;
    const op = this.next++;
    const expected = this.expected(op);
    if (kernel !== expected) throw mismatch(op, expected, kernel);
    this.running[op] = ms;
  }

  private expected(op: number): string | undefined {
    const { ops, strings } = this.trace;
    return op < ops.count ? strings[ops.name[op]] : undefined;
  }
}

function note(byWay: number[][], way: number, ms: number): void {
  while (byWay.length <= way) byWay.push([]);
  byWay[way].push(ms);
}

const sumOf = (times: Float64Array): number => times.reduce((sum, ms) => sum + ms, 0);

function mismatch(op: number, expected: string | undefined, found: string | undefined): RematError {
  return new RematError(
    "STEP_MISMATCH",
    `op ${op} of the step is ${found ?? "missing"}, but the trace has ${expected ?? "no more ops"}: the trace is of another model, or the model's ` +
      "steps differ. Trace this step, or time the trace with benchmarkTrace.",
  );
}
