import { threadId } from "node:worker_threads";
import type { LeakReport } from "@remat/leaks";
import { RematError } from "@remat/trace";
import type { ProgramIo } from "../outside/program-io.js";
import type { ExecutedPasses, ProgramFailure, RecordedStep, ThreadReport, WatchedStep } from "../thread-report.js";

const writeEveryMs = 1000;

/** Writes the results of this thread to a file of its own, which is replaced whenever there is something new. */
export class ThreadReporter {
  readonly io: ProgramIo;
  private readonly version: string;
  /** The device on which tensors are now, or undefined if there is no backend. */
  private readonly deviceNow: () => string | undefined;
  /** Forward and backward passes. */
  passes = 0;
  executed: ExecutedPasses | undefined;
  leaks: LeakReport | undefined;
  watched: WatchedStep | undefined;
  /** An out-of-memory error from which the program has not recovered: no pass has completed since. */
  failure: ProgramFailure | undefined;
  private readonly startedAt = Date.now();
  private readonly recorded: RecordedStep[] = [];
  private writtenAt = Number.NEGATIVE_INFINITY;
  private problem: string | undefined;
  private isOver = false;
  private residentBeforePasses: number | undefined;
  private device: string | undefined;

  constructor(io: ProgramIo, version: string, deviceNow: () => string | undefined) {
    this.io = io;
    this.version = version;
    this.deviceNow = deviceNow;
  }

  add(step: RecordedStep): void {
    this.recorded.push(step);
    this.write();
  }

  /** Only the first problem counts, since later ones may be its consequences. */
  fail(problem: string): void {
    this.problem ??= problem;
    this.write();
  }

  /** Notes the device while passes run, because a program may switch away from it at its end. */
  noteDevice(): void {
    this.device = this.deviceNow() ?? this.device;
  }

  /** Called when an outermost pass is about to begin. */
  passStarting(): void {
    this.noteDevice();
    this.residentBeforePasses ??= this.io.residentBytes()?.now;
  }

  /** Writes from time to time, since a thread that is killed gets no warning. */
  passed(executed: () => ExecutedPasses): void {
    this.passes++;
    const now = performance.now();
    if (now - this.writtenAt < writeEveryMs) return;
    this.writtenAt = now;
    this.executed = executed();
    this.write();
  }

  /**
   * Called when remat has stopped watching because of an error. The program continues. An error with a code already
   * says what to do. Any other is a bug.
   */
  broke(error: unknown): void {
    const { name, message } = error instanceof Error ? error : { name: "Error", message: "" };
    const stopped = "remat stopped watching, and the program continued without it";
    if (error instanceof RematError) this.fail(`${stopped}: ${message}`);
    else this.fail(`${stopped} (${name}: ${message}). Please report this as a bug.`);
  }

  /** Called when the thread ends normally. */
  end(): void {
    this.isOver = true;
    this.write();
  }

  write(): void {
    const resident = this.residentBeforePasses === undefined ? undefined : this.io.residentBytes();
    const report: ThreadReport = {
      pid: process.pid,
      thread: threadId,
      startedAt: this.startedAt,
      writtenAt: Date.now(),
      version: this.version,
      passes: this.passes,
      ...(this.device !== undefined && { device: this.device }),
      recorded: this.recorded,
      ...(this.executed !== undefined && { executed: this.executed }),
      ...(this.watched !== undefined && { watched: this.watched }),
      ...(this.leaks !== undefined && { leaks: this.leaks }),
      ...(this.failure !== undefined && { failure: this.failure }),
      ...(this.isOver && { isOver: true }),
      ...(this.problem !== undefined && { problem: this.problem }),
      ...(this.residentBeforePasses !== undefined &&
        resident !== undefined && {
          resident: { beforePasses: this.residentBeforePasses, most: resident.most },
        }),
      ...(this.io.failure !== undefined && { lost: this.io.failure }),
    };
    this.io.replaceText(this.io.pathFor("report.json"), JSON.stringify(report));
  }
}
