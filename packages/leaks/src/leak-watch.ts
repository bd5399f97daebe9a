import { isVariable, openDispatchMode } from "@remat/dispatch-hook";
import { isInScope, type TensorBirth, type TensorWatcher, watchTensors } from "@remat/dispatch-hook/tensors";
import type { RematError } from "@remat/trace";
import { type DataId, getBackend, memory, type Tensor } from "@tensorflow/tfjs-core";
import { CensusSchedule } from "./census-schedule.js";
import { heapCensus, type TakeCensus } from "./heap-census.js";
import { type LeakReport, ofProgram } from "./leak-report.js";
import { LiveTensors } from "./live-tensors.js";
import { PeriodFinder } from "./period-finder.js";
import { ProcessMemory, pooledBytesOf } from "./process-growth.js";
import { ReadValues } from "./read-values.js";
import { type ReadSite, takeStack } from "./source-site.js";
import { type StackLimits, Stacks } from "./stacks.js";

/**
 * If no period has been found for this long, each second counts as a period. The check runs once for a fixed number of
 * new tensors.
 */
const idleMs = 10_000;
const timedMs = 1000;
const tensorsBetween = 64;
/** Addresses of WebAssembly have 32 bits. */
const mostBytesOfWasm = 2 ** 32;

/** Options of {@link LeakWatch}. */
export interface LeakWatchOptions {
  /**
   * True to detect periods: optimizer steps, otherwise repeated sequences of ops, otherwise seconds. If false, only
   * calls of `endPeriod` count. True by default.
   */
  readonly findsPeriods?: boolean;
  /**
   * Captures the stack of the running code, and returns a function that reads it later, because most stacks are never
   * read. Default: the stack of the JavaScript engine.
   */
  readonly takeStack?: () => ReadSite;
  /**
   * Limits on taking stacks: how many are taken in any case, and the share of time for further ones. Default: 4000 and
   * 0.04. Beyond these limits, only the stacks of a random part of the tensors are taken.
   */
  readonly stacks?: StackLimits;
  /** Returns the layer that is running. Left out if unknown. */
  readonly runningModule?: () => string | undefined;
  /**
   * Called after every few dozen tensors that the program makes, even if the program never yields to the event loop.
   * Must not run ops.
   */
  readonly onTensors?: () => void;
  /**
   * Takes a census now and then, to distinguish lost tensors from referenced ones. By default `heapCensus()`, if
   * available.
   */
  readonly census?: TakeCensus | undefined;
  /** Returns the time in milliseconds (`performance.now` by default). */
  readonly now?: () => number;
  /**
   * Called with an error of the watch itself, which then closes. Default: the op that makes a tensor throws the error.
   */
  readonly onError?: (error: unknown) => void;
}

/**
 * Watches the tensors of a process until it is closed, and finds those that outlive their period. A tensor that dies
 * within its period leaves no record, and its stack is captured only if a similar tensor has outlived a period before.
 *
 * @example
 * const watch = new LeakWatch();
 * for (const batch of batches) await train(batch);
 * console.log(describeLeaks(watch.report()));
 * watch.close();
 */
export class LeakWatch implements TensorWatcher {
  private readonly live: LiveTensors;
  private readonly values: ReadValues;
  private readonly finder: PeriodFinder | undefined;
  private readonly now: () => number;
  private readonly startedAt: number;
  private readonly closeTensors: () => void;
  private readonly closeSteps: () => void = () => {};
  private readonly process = new ProcessMemory();
  private readonly schedule: CensusSchedule;
  private readonly census: TakeCensus | undefined;
  private newestId = 0;
  /** The kind of a period that ends as soon as no `tidy` is active, because temporaries are alive until then. */
  private due: string | undefined;
  /** True if periods are known, so that they need not be detected. */
  private isPeriodic = false;
  private isMarked = false;
  /** When the last period ended that is not based on time, and when the last one ended that is. */
  private endedAt: number;
  private timedAt: number;
  private untimed = 0;
  private untold = 0;
  private readonly onTensors: (() => void) | undefined;

  constructor(options: LeakWatchOptions = {}) {
    const { findsPeriods = true, takeStack: take = takeStack, now = () => performance.now() } = options;
    const { onError } = options;
    const guarded =
      <A extends readonly unknown[]>(observe: (...args: A) => void) =>
      (...args: A): void => {
        try {
          observe(...args);
        } catch (error) {
          if (onError === undefined) throw error;
          this.close();
          onError(error);
        }
      };
    this.now = now;
    this.onTensors = options.onTensors;
    this.startedAt = this.endedAt = this.timedAt = now();
    this.census = "census" in options ? options.census : heapCensus();
    this.schedule = new CensusSchedule(now);
    const stacks = new Stacks(now, take, options.stacks);
    this.live = new LiveTensors(stacks.take, options.runningModule);
    this.values = new ReadValues(stacks.take);
    this.finder = findsPeriods ? new PeriodFinder() : undefined;
    if (findsPeriods)
      this.closeSteps = openDispatchMode({
        seesOutside: true,
        ...(onError !== undefined && {
          cannotWatch: (problem: RematError) => {
            this.close();
            onError(problem);
          },
        }),
        optimizerStepDone: guarded(() => this.periodOver("step")),
      });
    this.closeTensors = watchTensors({
      tensorMade: guarded((tensor: Tensor, birth: TensorBirth) => this.tensorMade(tensor, birth)),
      scopesLeft: guarded(() => this.scopesLeft()),
      tensorDisposed: guarded((tensor: Tensor) => this.tensorDisposed(tensor)),
      valuesRead: guarded((values: unknown, dataId: DataId) => this.valuesRead(values, dataId)),
    });
  }

  /** Notes a new tensor. */
  tensorMade(tensor: Tensor, birth: TensorBirth): void {
    // A variable whose data is replaced keeps its id.
    if (tensor.id > this.newestId) this.newestId = tensor.id;
    this.live.made(tensor, birth, isVariable(tensor));
    if (this.onTensors !== undefined && ++this.untold >= tensorsBetween) {
      this.untold = 0;
      this.onTensors();
    }
    if (this.isPeriodic || this.finder === undefined) return;
    const parts = this.finder.opRan(birth.op ?? tensor.dtype);
    if (parts === undefined && (++this.untimed < tensorsBetween || !this.isSecondOver())) return;
    // If the whole program runs in one `tidy`, the previous period is still due.
    if (this.due !== undefined) this.endDue();
    this.due = parts === undefined ? "second" : "repeat";
    if (parts === undefined) return;
    this.endedAt = this.now();
    if (parts > 0) this.live.takeBack("repeat", parts);
  }

  private isSecondOver(): boolean {
    this.untimed = 0;
    const now = this.now();
    if (now - this.endedAt < idleMs || now - this.timedAt < timedMs) return false;
    this.timedAt = now;
    return true;
  }

  /** Notes that the outermost `tidy` has ended. */
  scopesLeft(): void {
    if (this.due !== undefined) this.endDue();
  }

  /** Notes a disposed tensor. */
  tensorDisposed(tensor: Tensor): void {
    this.live.disposed(tensor);
  }

  /** Notes an array that `data` or `dataSync` returned. */
  valuesRead(values: unknown, dataId: DataId): void {
    if (ArrayBuffer.isView(values)) this.values.read(values, dataId);
  }

  /**
   * Notes the end of a period that the watch cannot see: a call of `predict`, an episode. If the running code is inside
   * a `tidy`, the period ends when the `tidy` ends.
   */
  periodOver(kind: string): void {
    if (this.isMarked) return;
    if (!this.isPeriodic) this.restart();
    this.isPeriodic = true;
    if (this.due !== undefined) this.endDue();
    this.due = kind;
    if (!isInScope()) this.endDue();
  }

  /** Ends a period now. From then on only periods ended by this method count. */
  endPeriod(kind: string): void {
    if (!this.isMarked) this.restart();
    this.isMarked = true;
    this.isPeriodic = true;
    this.due = kind;
    this.endDue();
  }

  /** Returns the tensors alive now, after ending the current period. */
  report(): LeakReport {
    if (this.due !== undefined) this.endDue();
    this.live.settle();
    return this.reportSoFar();
  }

  /** Returns the tensors alive when the last period ended, without ending the current one. */
  reportSoFar(): LeakReport {
    const makers = [...this.live.report(), ...this.values.report()];
    const periods = [...this.live.periods()].map(([kind, count]) => ({ kind, count }));
    return {
      periods,
      count: this.live.count,
      bytes: this.live.bytes,
      makers: makers.toSorted((a, b) => rank(a) - rank(b) || b.bytesPerPeriod - a.bytesPerPeriod || b.bytes - a.bytes),
      process: this.processGrowth(periods),
      collectsLost: getBackend() === "cpu",
      ...(getBackend() === "wasm" && { mostBytes: mostBytesOfWasm }),
      stacks: this.live.stacks,
      elapsedMs: this.now() - this.startedAt,
    };
  }

  /** Stops watching. */
  close(): void {
    this.closeTensors();
    this.closeSteps();
  }

  private processGrowth(periods: LeakReport["periods"]): LeakReport["process"] {
    const counted = ofProgram(periods);
    if (counted.length === 0) return [];
    const all = counted.reduce((sum, { count }) => sum + count, 0);
    return this.process.report(counted[0].kind, counted[0].count / all);
  }

  private restart(): void {
    this.process.restart();
    this.schedule.restart();
    this.live.restart();
  }

  private endDue(): void {
    const kind = this.due!;
    this.due = undefined;
    this.live.endPeriod(kind);
    this.values.endPeriod(kind);
    this.schedule.periodOver(this.newestId, (periods, oldId) => this.look(periods, oldId));
  }

  private look(periods: number, oldId: number): void {
    const census = this.census?.(!this.values.isEmpty);
    if (census !== undefined) {
      this.live.look(census.tensors, oldId);
      this.values.look(census);
    } else if (this.census !== undefined) return;
    const told = memory();
    this.process.add(periods, census, { tensorBytes: told.numBytes, pooledBytes: pooledBytesOf(told) });
  }
}

const rank = ({ verdict }: { readonly verdict: string }): number => (verdict === "growing" ? 0 : 1);
