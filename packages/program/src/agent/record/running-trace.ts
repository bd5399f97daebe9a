import { type Trace, TraceEncoder } from "@remat/trace";
import type { ProgramIo } from "../../outside/program-io.js";
import { type RunningStep, runningStepName, runningTraceName } from "../../running-step.js";

/** A file that stays open while steps are recorded, since it is written to at every op. */
class OpenFile {
  private readonly io: ProgramIo;
  private readonly path: string | undefined;
  private readonly file: number | undefined;

  constructor(io: ProgramIo, path: string | undefined, flags: "a" | "w") {
    this.io = io;
    this.path = path;
    this.file = io.open(path, flags);
  }

  write(bytes: Uint8Array, position?: number): boolean {
    const { io, path, file } = this;
    return file !== undefined && path !== undefined && io.write(file, path, bytes, position);
  }

  empty(): boolean {
    const { io, path, file } = this;
    return file !== undefined && path !== undefined && io.empty(file, path);
  }

  close(): void {
    if (this.file !== undefined) this.io.close(this.file);
  }
}

/** Writes the step in progress op by op, so that its trace is complete up to the last op however the process ends. */
export class RunningTrace {
  private readonly trace: OpenFile;
  private readonly step: OpenFile;
  private encoder: TraceEncoder | undefined;
  private events = 0;
  private stepBytes = 0;
  private isClosed = false;

  constructor(io: ProgramIo) {
    this.trace = new OpenFile(io, io.pathFor(runningTraceName), "a");
    this.step = new OpenFile(io, io.pathFor(runningStepName), "w");
  }

  begin(): void {
    if (this.isClosed) return;
    this.encoder = this.trace.empty() ? new TraceEncoder() : undefined;
    this.events = -1;
  }

  /**
   * Writes the events since the last call. If a write fails, the rest of the step is left out, because a gap would make
   * the trace unreadable.
   */
  write(trace: Trace): void {
    if (this.encoder === undefined || trace.events.count === this.events) return;
    this.events = trace.events.count;
    let lines = "";
    for (const line of this.encoder.encode(trace)) lines += `${line}\n`;
    if (!this.trace.write(Buffer.from(lines))) this.encoder = undefined;
  }

  /** Keeps the written trace of a step that was interrupted. */
  keep(): void {
    this.encoder = undefined;
  }

  /** Ends a step that has finished or is not needed. */
  end(): void {
    if (this.encoder === undefined) return;
    this.encoder = undefined;
    this.trace.empty();
  }

  /** Replaces the previous description of the step. If that was longer, its remainder is filled with spaces. */
  tell(step: RunningStep): void {
    if (this.isClosed) return;
    const told = Buffer.from(JSON.stringify(step));
    const bytes = Buffer.alloc(Math.max(told.length, this.stepBytes), " ");
    told.copy(bytes);
    this.stepBytes = told.length;
    this.step.write(bytes, 0);
  }

  /** Closes the files after the last step, so that the program has their descriptors again. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.encoder = undefined;
    this.trace.close();
    this.step.close();
  }
}
