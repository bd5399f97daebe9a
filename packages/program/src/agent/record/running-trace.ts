import { ftruncateSync, openSync, writeSync } from "node:fs";
import { type Trace, TraceEncoder } from "@remat/trace";
import { type RunningStep, runningStepName, runningTraceName } from "../../running-step.js";
import type { ThreadReporter } from "../thread-reporter.js";

/** Writes the step that is being recorded, op by op, so that it is whole to its last op however the process ends. */
export class RunningTrace {
  private readonly trace: number;
  private readonly step: number;
  private encoder: TraceEncoder | undefined;
  private events = 0;
  private stepBytes = 0;

  constructor(reporter: Pick<ThreadReporter, "pathFor">) {
    this.trace = openSync(reporter.pathFor(runningTraceName), "a");
    this.step = openSync(reporter.pathFor(runningStepName), "w");
  }

  begin(): void {
    ftruncateSync(this.trace, 0);
    this.encoder = new TraceEncoder();
    this.events = -1;
  }

  /** Writes what has come since the last call. */
  write(trace: Trace): void {
    if (this.encoder === undefined || trace.events.count === this.events) return;
    this.events = trace.events.count;
    let lines = "";
    for (const line of this.encoder.encode(trace)) lines += `${line}\n`;
    writeAll(this.trace, Buffer.from(lines));
  }

  /** What has been written stays: the step has come to its end before it was over. */
  keep(): void {
    this.encoder = undefined;
  }

  /** The step is over, or of no interest. */
  end(): void {
    if (this.encoder === undefined) return;
    this.encoder = undefined;
    ftruncateSync(this.trace, 0);
  }

  /** What was told before goes: spaces are left of it where that was longer. */
  tell(step: RunningStep): void {
    const told = Buffer.from(JSON.stringify(step));
    const bytes = Buffer.alloc(Math.max(told.length, this.stepBytes), " ");
    told.copy(bytes);
    this.stepBytes = told.length;
    writeSync(this.step, bytes, 0, bytes.length, 0);
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
