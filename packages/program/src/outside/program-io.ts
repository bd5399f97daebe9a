import {
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createRequire, register } from "node:module";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { type FailedOperation, lossMarkName, lossSignal, type OperationKind, saidBy } from "./failed-operation.js";

/** The folder that the program and its runner share, and the runner's process. */
export interface ProgramPlace {
  /** Left out if the runner could not create one. */
  readonly folder?: string | undefined;
  readonly runner?: number | undefined;
}

/**
 * All access of remat's code in the user's process to files, modules and the system. Nothing here throws: a failed
 * operation is noted for the runner, and the program continues. The linter rejects `node:fs` and similar modules
 * anywhere else in the code that is loaded into programs.
 *
 * @example
 * const io = new ProgramIo({ folder, runner: process.ppid });
 * if (!io.replaceText(io.pathFor("report.json"), "{}")) return; // noted in io.failure
 */
export class ProgramIo {
  private readonly place: ProgramPlace;
  /** The first operation that failed in this thread. */
  failure: FailedOperation | undefined;
  /** True if the agent leaves the program alone. */
  isAway = false;

  constructor(place: ProgramPlace) {
    this.place = place;
  }

  /** Makes the agent leave this thread alone. */
  standBack(): void {
    this.isAway = true;
  }

  /** Path of a file of this thread. Returns undefined without a folder. */
  pathFor(name: string): string | undefined {
    return this.place.folder === undefined ? undefined : join(this.place.folder, `${process.pid}-${threadId}-${name}`);
  }

  /** Replaces a whole file. If that fails, the old file stays. */
  replaceText(path: string | undefined, text: string): boolean {
    if (path === undefined) return false;
    const next = `${path}.new`;
    const isDone = this.attempt("write", path, () => {
      writeFileSync(next, text);
      renameSync(next, path);
      return true;
    });
    if (isDone !== true) this.remove(next);
    return isDone === true;
  }

  /** Writes a file chunk by chunk. Removes it if that fails. */
  writeChunks(path: string | undefined, chunks: Iterable<Uint8Array>): boolean {
    const file = this.open(path, "w");
    if (path === undefined || file === undefined) return false;
    const isDone = this.attempt("write", path, () => {
      for (const chunk of chunks) for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
      return true;
    });
    this.close(file);
    if (isDone !== true) this.remove(path);
    return isDone === true;
  }

  /** Opens a file for writing. Returns undefined if that fails. */
  open(path: string | undefined, flags: "a" | "w"): number | undefined {
    return path === undefined ? undefined : this.attempt("write", path, () => openSync(path, flags));
  }

  /** Writes all bytes at `position` or at the end. False if that fails. */
  write(file: number, path: string, bytes: Uint8Array, position?: number): boolean {
    const isDone = this.attempt("write", path, () => {
      for (let at = 0; at < bytes.length; )
        at += writeSync(file, bytes, at, bytes.length - at, position === undefined ? null : position + at);
      return true;
    });
    return isDone === true;
  }

  /** Empties an open file. False if that fails. */
  empty(file: number, path: string): boolean {
    const isDone = this.attempt("write", path, () => {
      ftruncateSync(file, 0);
      return true;
    });
    return isDone === true;
  }

  close(file: number): void {
    try {
      closeSync(file);
    } catch {
      // The program may have closed it, since it can close descriptors that it did not open.
    }
  }

  /** Removes a file. If that fails, the runner removes it with the folder. */
  remove(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch {
      // The runner removes the whole folder.
    }
  }

  /** Reads a file that remat cannot work without. Returns undefined if that fails. */
  readNeeded(path: string): string | undefined {
    return this.attempt("read", path, () => readFileSync(path, "utf8"));
  }

  /**
   * Reads a file that may be missing, such as a source map. Returns undefined if it cannot be read, which is not noted
   * as a failure.
   */
  readOptional(path: string): string | undefined {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return undefined;
    }
  }

  exists(path: string): boolean {
    return existsSync(path);
  }

  /** Loads a CommonJS module of remat. Returns undefined if that fails. */
  load(file: string): unknown {
    return this.attempt("load", file, () => createRequire(file)(file) as unknown);
  }

  /**
   * Registers module hooks that run in a separate thread. False if that fails. The process's output streams keep
   * exactly the listeners that they had before.
   */
  registerHooks(url: string, data: unknown): boolean {
    const isDone = this.attempt("load", url, () => {
      const restore = outputStreams().map(withoutNewErrorListeners);
      register(url, { data });
      for (const each of restore) each();
      return true;
    });
    return isDone === true;
  }

  /** The working folder, or undefined if it is gone. */
  workingFolder(): string | undefined {
    try {
      return process.cwd();
    } catch {
      return undefined;
    }
  }

  /** Resident memory of the process in bytes, now and at its highest, or undefined if the system does not report it. */
  residentBytes(): { readonly now: number; readonly most: number } | undefined {
    try {
      return { now: process.memoryUsage.rss(), most: 1024 * process.resourceUsage().maxRSS };
    } catch {
      // Linux provides it in a file, for which there may be no descriptor left.
      return undefined;
    }
  }

  private attempt<T>(doing: OperationKind, path: string, operation: () => T): T | undefined {
    try {
      return operation();
    } catch (error) {
      this.note(doing, path, error);
      return undefined;
    }
  }

  /** Notes a failed operation and informs the runner even if no file can be written any more. */
  private note(doing: OperationKind, path: string, error: unknown): void {
    if (this.failure !== undefined) return;
    const { code, message } = saidBy(error);
    this.failure = { doing, path, code, message };
    const { folder, runner } = this.place;
    if (folder === undefined) return;
    const mark = join(folder, `${process.pid}-${threadId}-${lossMarkName}-${doing}-${code}`);
    // Neither needs a descriptor or space for data, so both work on a full disk and in a process without descriptors.
    if (tries(() => linkSync(join(folder, lossMarkName), mark)) || tries(() => symlinkSync(code, mark))) return;
    // A process that does not listen ignores this signal.
    if (runner !== undefined) tries(() => process.kill(runner, lossSignal));
  }
}

/** `stdout` and `stderr`, or empty if there are no descriptors left for them. */
function outputStreams(): NodeJS.WriteStream[] {
  try {
    return [process.stdout, process.stderr];
  } catch {
    return [];
  }
}

/**
 * Returns a function that removes the `error` listeners a stream gets from now on. Node pipes the output of the thread
 * that runs module hooks, in which remat prints nothing, into these streams, and a pipe listens to `error`. `console`
 * ignores errors only if nothing else listens, so a `stderr` that cannot be written would end the program.
 */
function withoutNewErrorListeners(stream: NodeJS.WriteStream): () => void {
  const before = new Set(stream.listeners("error"));
  return () => {
    for (const listener of stream.listeners("error"))
      if (!before.has(listener)) stream.off("error", listener as () => void);
  };
}

function tries(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
