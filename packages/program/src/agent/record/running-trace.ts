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

/** Writes the step that is being recorded, op by op, so that it is whole to its last op however the process ends. */
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

  /** Writes what has come since the last call. After one that fails the rest of the step is left out: a gap would make it unreadable. */
  write(trace: Trace): void {
    if (this.encoder === undefined || trace.events.count === this.events) return;
    this.events = trace.events.count;
    let lines = "";
    for (const line of this.encoder.encode(trace)) lines += `${line}\n`;
    if (!this.trace.write(Buffer.from(lines))) this.encoder = undefined;
  }

  /** What has been written stays: the step has come to its end before it was over. */
  keep(): void {
    this.encoder = undefined;
  }

  /** The step is over, or of no interest. */
  end(): void {
    if (this.encoder === undefined) return;
    this.encoder = undefined;
    this.trace.empty();
  }

  /** What was told before goes: spaces are left of it where that was longer. */
  tell(step: RunningStep): void {
    if (this.isClosed) return;
    const told = Buffer.from(JSON.stringify(step));
    const bytes = Buffer.alloc(Math.max(told.length, this.stepBytes), " ");
    told.copy(bytes);
    this.stepBytes = told.length;
    this.step.write(bytes, 0);
  }

  /** No step follows: the program has its descriptors back. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.encoder = undefined;
    this.trace.close();
    this.step.close();
  }
}
