import { type DispatchObserver, type OpDone, withDispatchModeSync } from "@remat/dispatch-hook";
import { Phase, RematError, type Trace } from "@remat/trace";
import { quantile } from "./quantile.js";
import type { StepClock } from "./step-clock.js";
import { withMeasuredTimes } from "./with-measured-times.js";

export interface StepTimes {
  /**
   * The trace with the median runtime of each op, as `RuntimeSource.measured`, with half the interquartile range and the number of steps. All are
   * longer by a common factor, so that they add up to the median of what the ops of a step take together: in each step some op or other is slow.
   */
  readonly trace: Trace;
  /** Median milliseconds of a step outside of ops: tfjs in JavaScript, the user's code, arrays that JavaScript fills. Of the first way to run it. */
  readonly hostMs: number;
  /** The same for each way. */
  readonly hostMsByWay: readonly number[];
}

/** A way to run a step: the same ops, e.g. under other modes. */
export interface StepWay {
  /** Opens what is to be open around a step, and returns what closes that, e.g. `releaseEarly`. */
  readonly open: () => () => void;
  /**
   * What is timed of its steps: each op, the step as a whole with nobody watching its ops, or both in turns. Watching takes some microseconds per
   * op, which count as the step's only where they are there in training, too, as under a plan. Left out: each op.
   */
  readonly times?: "ops" | "step" | "both";
}

/**
 * Times the ops of steps, op by op, as a trace has them. {@link timeStep} takes the steps by itself; this is for steps that somebody else takes.
 *
 * @example
 * const stopwatch = new OpStopwatch(trace);
 * stopwatch.time(() => step());
 * const { trace: timed, hostMs } = stopwatch.times();
 */
export class OpStopwatch implements DispatchObserver {
  private readonly trace: Trace;
  private readonly samples: Float64Array[] = [];
  /** By way: milliseconds outside of ops in steps whose ops were watched, and of whole steps whose ops were not. */
  private readonly besideOps: number[][] = [];
  private readonly wholeSteps: number[][] = [];
  private running: Float64Array;
  private next = 0;
  private startedAt = 0;
  private isTiming = false;
  private readonly clock: StepClock;

  /** `clock`: what whole steps are timed by, such as CPU time; wall time if left out. */
  constructor(trace: Trace, clock: StepClock = () => performance.now()) {
    this.trace = trace;
    this.clock = clock;
    this.running = new Float64Array(trace.ops.count);
  }

  /**
   * Runs one step and times its ops, and says how many milliseconds it took. Steps may run the same ops in several ways, e.g. under different
   * modes, which are told apart by number.
   *
   * @throws RematError `STEP_MISMATCH` where it does not run the trace's ops; whatever the step throws
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
    // CPU time is too coarse for an op: each op has its share of the step's.
    const share = wallMs > 0 ? ms / wallMs : 1;
    for (let op = 0; op < this.running.length; op++) this.running[op] *= share;
    this.samples.push(this.running);
    note(this.besideOps, way, ms - sumOf(this.running));
    return ms;
  }

  /** Runs one step without watching its ops, and says how many milliseconds it took: for what it takes outside of ops. */
  timeWhole(step: () => void, way: number = 0): number {
    const start = performance.now();
    const begun = this.clock();
    step();
    const ms = this.sinceOrWall(begun, performance.now() - start);
    note(this.wholeSteps, way, ms);
    return ms;
  }

  /**
   * What runs and times one step each, of all ways in turns, so many of each in a row (1); whoever takes the steps warms up in the first way. Where the
   * way changes, a step that does not count comes first: the memory that one way has left behind does not fit the other, whose first step may take a tenth longer.
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

  /** Threads that compile or collect garbage beside the step count for the CPU time of a process, too: a step takes no longer than by the wall clock. */
  private sinceOrWall(begun: number, wallMs: number): number {
    return Math.min(wallMs, Math.max(0, this.clock() - begun));
  }

  /** Forgets the steps so far. */
  reset(): void {
    this.samples.length = 0;
    this.besideOps.length = 0;
    this.wholeSteps.length = 0;
  }

  /** Medians over the steps; those of ops over the steps of all ways. */
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

  opStarting(): void {
    this.startedAt = performance.now();
  }

  opDone({ kernel, phase }: OpDone): void {
    const ms = performance.now() - this.startedAt;
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
    `op ${op} of the step is ${found ?? "missing"} where the trace has ${expected ?? "no more ops"}: the trace is of another model, or the model's ` +
      "steps differ. Trace this step, or price the trace with benchmarkTrace.",
  );
}
