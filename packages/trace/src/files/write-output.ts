import { accessSync, constants, renameSync, write as writeWithCallback } from "node:fs";
import { promisify } from "node:util";
import { outputTarget, refusal } from "./output-target.js";
import { closeTemporaryFile, openTemporaryFile, publishTemporaryFile } from "./temporary-file.js";
import {
  type Content,
  chunksOf,
  type OutputStream,
  writeInto,
  writeToDescriptor,
  writeToStream,
} from "./write-through.js";

export interface WriteOutputOptions {
  /** What `-` and `/dev/stdout` stand for; the process's standard output if left out. */
  readonly stdout?: OutputStream;
}

/**
 * Writes `content` where `path` says. A file that is there is lost only to a whole new one, which has its mode; symlinks are followed; character
 * devices and descriptors (`/dev/null`, `/dev/stdout`, `>(command)`) are written to, never replaced; `-` is standard output. Named pipes, sockets, disks and
 * folders are rejected: writing to a pipe could wait for ever.
 *
 * Whatever ends it, an error, Ctrl-C, SIGTERM or SIGHUP, nothing half-written is left; after SIGKILL a `remat-….part` beside the target may be.
 *
 * @throws what the file system, or `content` as it is read, throws
 * @example
 * await writeOutput("plan.json", JSON.stringify(plan));
 */
export async function writeOutput(path: string, content: Content, options: WriteOutputOptions = {}): Promise<void> {
  const target = outputTarget(path);
  switch (target.kind) {
    case "descriptor":
      if (target.fd === 1) return writeToStream(content, options.stdout ?? process.stdout);
      if (target.fd === 2) return writeToStream(content, process.stderr);
      return writeToDescriptor(content, target.fd);
    case "device":
      return writeInto(content, target.path);
    case "refused":
      throw refusal(target);
    default: {
      const file = openTemporaryFile(target.path, target.before);
      try {
        for await (const chunk of chunksOf(content)) await writeAll(file.fd, chunk);
        publishTemporaryFile(file, target.path, () => renameSync(file.path, target.path));
      } finally {
        closeTemporaryFile(file);
      }
    }
  }
}

/**
 * Checks that something can be written to `path`, and leaves what is there: for what has hours to go until it writes. That the disk has room for it is not checked.
 *
 * @throws what the file system throws
 * @example
 * checkOutput("run.remat.jsonl");
 */
export function checkOutput(path: string): void {
  const target = outputTarget(path);
  if (target.kind === "descriptor") return;
  if (target.kind === "file") closeTemporaryFile(openTemporaryFile(target.path, target.before));
  else if (target.kind === "refused") throw refusal(target);
  else accessSync(target.path, constants.W_OK);
}

const write = promisify(writeWithCallback);

/** Asynchronously, so that a signal is heard between two chunks. */
async function writeAll(fd: number, chunk: string | Uint8Array): Promise<void> {
  let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  while (rest.length > 0) rest = rest.subarray((await write(fd, rest)).bytesWritten);
}

/** Tells whether `path` is where a command's own output goes. */
export function isStandardOutput(path: string): boolean {
  try {
    const target = outputTarget(path);
    return target.kind === "descriptor" && target.fd === 1;
  } catch {
    // What leads nowhere is refused when it is written.
    return false;
  }
}
