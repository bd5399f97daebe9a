import { createWriteStream, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { openInput, refusedInput } from "@remat/trace/files";
import type { ConsoleIo } from "./console-io.js";
import { readNamedPipe } from "./named-pipe.js";
import { UsageError } from "./usage-error.js";

/** The typed argument for each temporary file. */
const typed = new Map<string, string>();

/**
 * Calls `use` with the targets. Before, it replaces `-` by a file with the content of standard input, and a pipe (such
 * as a shell's `<(command)`) by a file with its content. Models are read more than once and by other processes. The
 * files are deleted afterwards.
 *
 * @throws UsageError if standard input is a terminal, or if `-` is given twice
 */
export async function withStandardInput(
  targets: readonly string[],
  { stdin }: ConsoleIo,
  use: (targets: readonly string[]) => Promise<void>,
): Promise<void> {
  const wanted = targets.filter((target) => target === "-").length;
  if (wanted === 0 && !targets.some(isPipe)) return use(targets);
  if (wanted > 1)
    throw new UsageError("standard input can be read only once, and - was given twice. Name a file for one of them.");
  if (wanted > 0 && stdin === undefined)
    throw new UsageError("- reads standard input, which is a terminal here. Pipe a file into it, or name the file.");
  const folder = mkdtempSync(join(tmpdir(), "remat-stdin-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A model's code may end the process.
  process.once("exit", remove);
  try {
    const files: string[] = [];
    for (const [i, target] of targets.entries()) {
      const source = target === "-" ? stdin : isPipe(target) ? readPipe(target) : undefined;
      files.push(source === undefined ? target : await spool(source, join(folder, String(i)), target));
    }
    await use(files);
  } finally {
    process.off("exit", remove);
    remove();
  }
}

/** Returns the text that was typed for a target: `-` for the file with standard input. */
export function typedTarget(target: string): string {
  return typed.get(target) ?? target;
}

function isPipe(target: string): boolean {
  try {
    return statSync(target).isFIFO();
  } catch {
    // A missing file is rejected when it is read.
    return false;
  }
}

/** A shell's own pipe is already open. A named pipe may not have a writer. */
const readPipe = (target: string): AsyncIterable<Uint8Array> =>
  refusedInput(target) === undefined ? openInput(target) : readNamedPipe(target);

/** Writes everything to a file whose extension shows whether it is zipped. */
async function spool(source: AsyncIterable<Uint8Array>, folder: string, target: string): Promise<string> {
  mkdirSync(folder);
  const path = join(folder, "stdin");
  let head: Uint8Array = new Uint8Array();
  await pipeline(
    Readable.from(source),
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        if (head.length < headBytes) head = Buffer.concat([head, chunk]);
        yield chunk;
      }
    },
    createWriteStream(path),
  );
  if (head.length === 0)
    throw new UsageError(
      `${target === "-" ? "standard input" : target} is empty. Pipe a model or a trace into it, or name the file.`,
    );
  // Importers recognise the format by its first bytes.
  const named = join(folder, head[0] === 0x1f && head[1] === 0x8b ? "stdin.json.gz" : "stdin.json");
  await rename(path, named);
  typed.set(named, target);
  return named;
}

const headBytes = 2;
