import { Buffer } from "node:buffer";
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  openSync,
  type ReadStream,
  readFileSync,
  readSync,
  type Stats,
  statfsSync,
  statSync,
} from "node:fs";
import { ownDescriptor } from "./output-target.js";

/** Why a path is not read. */
export type InputErrorCode =
  /**
   * A device, a pipe, a socket, a folder, or a file that the kernel generates while it is read. Reading one may never
   * end.
   */
  | "EINPUTKIND"
  /** The file is larger than the caller allows. */
  | "EINPUTSIZE";

/** Error for a path that is not read because reading it might block or never end. */
export class InputError extends Error {
  /** The kind of input that is refused. */
  readonly code: InputErrorCode;
  /** The path that was not read. */
  readonly path: string;
  override readonly name = "InputError";

  constructor(code: InputErrorCode, path: string, message: string) {
    super(message);
    this.code = code;
    this.path = path;
  }
}

/** Options for {@link readInput}. */
export interface ReadInputOptions {
  /** Largest number of bytes to read. The default is 2 GiB, the most that Node reads at once. */
  readonly maxBytes?: number;
}

/** An open file. */
interface Input {
  readonly fd: number;
  /** Size of a regular file, or undefined for a pipe that this process was given. */
  readonly bytes: number | undefined;
}

const mostBytes = 2 ** 31 - 1;

/** Types of file systems whose files the kernel generates: proc, sysfs, debugfs, tracefs. */
const madeUp = new Set([0x9fa0, 0x62656572, 0x64626720, 0x74726163]);

/**
 * Opens an input file for reading without waiting. It may be a regular file, or a pipe given to this process as
 * `/dev/stdin` or by a shell's `<(command)`. The caller closes the returned descriptor.
 *
 * @throws InputError for a device, a named pipe, a socket, a folder, or a file of `/proc`
 * @throws errors of the file system
 */
function open(path: string): Input {
  const given = givenDescriptor(path);
  let fd: number;
  try {
    // Without O_NONBLOCK a named pipe would wait here for a writer.
    fd = openSync(
      path,
      given ? constants.O_RDONLY : constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENXIO") throw wrongKind(path, "a socket");
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (given && (stats.isFIFO() || stats.isSocket())) return { fd, bytes: undefined };
    const kind = kindOf(stats) ?? (isMadeUp(fd, path) ? "made up by the kernel as it is read" : undefined);
    if (kind !== undefined) throw wrongKind(path, kind);
    return { fd, bytes: stats.size };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Returns whether a path is a descriptor that this process was started with. A pipe there was passed on purpose. */
function givenDescriptor(path: string): boolean {
  if (ownDescriptor(path) === undefined) return false;
  try {
    return !statSync(path).isCharacterDevice();
  } catch {
    return false;
  }
}

/** The kind of a path that is not a regular file, or undefined for a regular file. */
function kindOf(stats: Stats): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

function isMadeUp(fd: number, path: string): boolean {
  for (const name of [`/proc/self/fd/${fd}`, path])
    try {
      return madeUp.has(statfsSync(name).type);
    } catch {
      // Only Linux has the first path.
    }
  return false;
}

function wrongKind(path: string, kind: string): InputError {
  return new InputError("EINPUTKIND", path, `it is ${kind}, not a regular file`);
}

function tooLarge(path: string, bytes: number, maxBytes: number): InputError {
  return new InputError("EINPUTSIZE", path, `it has ${bytes} bytes, and the limit is ${maxBytes}`);
}

/**
 * Returns the bytes of an input file. It may be a regular file, or a pipe given to this process as `/dev/stdin` or by a
 * shell's `<(command)`. Never waits for a writer that may not come.
 *
 * @throws InputError for a device, a named pipe, a socket, a folder, a file of `/proc`, or more than `maxBytes`
 * @throws errors of the file system
 * @example
 * readInput("weights.bin", { maxBytes: 4096 });
 */
export function readInput(path: string, { maxBytes = mostBytes }: ReadInputOptions = {}): Buffer {
  const { fd, bytes } = open(path);
  try {
    if (bytes !== undefined) {
      if (bytes > maxBytes) throw tooLarge(path, bytes, maxBytes);
      return readFileSync(fd);
    }
    return readPipe(fd, path, maxBytes);
  } finally {
    closeSync(fd);
  }
}

function readPipe(fd: number, path: string, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(1 << 16);
    const count = readWhenThere(fd, chunk);
    if (count === 0) return Buffer.concat(chunks, total);
    total += count;
    if (total > maxBytes) throw tooLarge(path, total, maxBytes);
    chunks.push(chunk.subarray(0, count));
  }
}

/** Reads from a pipe and waits for its writer, even if another program has set the pipe to non-blocking. */
function readWhenThere(fd: number, chunk: Buffer): number {
  for (;;)
    try {
      return readSync(fd, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
}

/**
 * Returns why `readInput` would reject a path, such as "a named pipe". Returns undefined for a file, a folder, a pipe
 * that this process was given, and a path that does not exist.
 *
 * @example
 * refusedInput("/dev/zero"); // "a device"
 */
export function refusedInput(path: string): string | undefined {
  let stats: Stats | undefined;
  try {
    stats = statSync(path, { throwIfNoEntry: false });
  } catch {
    // Reading the path reports the problem.
    return undefined;
  }
  if (stats === undefined || stats.isDirectory() || givenDescriptor(path)) return undefined;
  return kindOf(stats);
}

/**
 * Returns the text of an input file, read with {@link readInput}.
 *
 * @throws the errors of {@link readInput}
 * @example
 * JSON.parse(readInputText("plan.json"));
 */
export function readInputText(path: string, options: ReadInputOptions = {}): string {
  return readInput(path, options).toString("utf8");
}

/**
 * Returns the first bytes of an input file, at most `count`. Accepts the same kinds of files as {@link readInput}.
 *
 * @throws the errors of {@link readInput}
 * @example
 * readInputHead("run.remat.jsonl.gz", 2);
 */
export function readInputHead(path: string, count: number): Buffer {
  const { fd } = open(path);
  try {
    const head = Buffer.alloc(count);
    return head.subarray(0, readSync(fd, head, 0, count, null));
  } finally {
    closeSync(fd);
  }
}

/**
 * Opens an input file as a stream. Accepts the same kinds of files as {@link readInput}.
 *
 * @throws the errors of {@link readInput}, before it returns
 * @example
 * for await (const chunk of openInput("run.remat.jsonl")) console.log(chunk.length);
 */
export function openInput(
  path: string,
  options: { readonly highWaterMark?: number; readonly signal?: AbortSignal | undefined } = {},
): ReadStream {
  return createReadStream(path, { ...options, fd: open(path).fd });
}
