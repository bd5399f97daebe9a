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

/** Options for {@link writeOutput}. */
export interface WriteOutputOptions {
  /** The stream for `-` and `/dev/stdout`. Default: the standard output of the process. */
  readonly stdout?: OutputStream;
}

/**
 * Writes `content` to `path`. An existing file is replaced only after the new file is complete. The new file gets the
 * mode of the old one. Symbolic links are followed. Character devices and descriptors (`/dev/null`, `/dev/stdout`,
 * `>(command)`) are written to, never replaced. `-` is standard output. Named pipes, sockets, disks and folders are
 * rejected. Writing to a pipe could wait forever, and writing to a disk would destroy its contents.
 *
 * After an error, Ctrl-C, SIGTERM or SIGHUP no incomplete file is left. After SIGKILL a `remat-….part` file beside the
 * target may remain.
 *
 * @throws errors of the file system, or errors of reading `content`
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
 * Checks that `path` can be written to, without changing it. Use it in commands that run for hours before they write.
 * Free space on the disk is not checked.
 *
 * @throws errors of the file system
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

/** Writes a chunk asynchronously, so that signals are handled between two chunks. */
async function writeAll(fd: number, chunk: string | Uint8Array): Promise<void> {
  let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  while (rest.length > 0) rest = rest.subarray((await write(fd, rest)).bytesWritten);
}

/** Returns whether `path` leads to the standard output of the command. */
export function isStandardOutput(path: string): boolean {
  try {
    const target = outputTarget(path);
    return target.kind === "descriptor" && target.fd === 1;
  } catch {
    // Writing to the path reports the problem.
    return false;
  }
}
