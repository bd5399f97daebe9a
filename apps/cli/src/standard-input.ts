import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ConsoleIo } from "./console-io.js";
import { UsageError } from "./usage-error.js";

const folderPrefix = "remat-stdin-";

/**
 * Calls `use` with the targets, where `-` is a file with what standard input had: models are read more than once, and by other processes. The file
 * goes afterwards.
 *
 * @throws UsageError where there is nothing to read, or it is asked for twice
 */
export async function withStandardInput(
  targets: readonly string[],
  { stdin }: ConsoleIo,
  use: (targets: readonly string[]) => Promise<void>,
): Promise<void> {
  const wanted = targets.filter((target) => target === "-").length;
  if (wanted === 0) return use(targets);
  if (wanted > 1)
    throw new UsageError("standard input can be read once, and - stands there twice. Name a file for one of them.");
  if (stdin === undefined)
    throw new UsageError("- is standard input, which is a terminal here. Send a file to it, or name the file.");
  const folder = mkdtempSync(join(tmpdir(), folderPrefix));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A model's code may end the process.
  process.once("exit", remove);
  try {
    const path = await spool(stdin, folder);
    await use(targets.map((target) => (target === "-" ? path : target)));
  } finally {
    process.off("exit", remove);
    remove();
  }
}

/** Returns what was typed for a target: `-` for the file that standard input was put into. */
export function typedTarget(target: string): string {
  return target.startsWith(join(tmpdir(), folderPrefix)) ? "-" : target;
}

/** Writes all of it to a file whose ending tells whether it is zipped. */
async function spool(stdin: AsyncIterable<Uint8Array>, folder: string): Promise<string> {
  const path = join(folder, "stdin");
  let head: Uint8Array = new Uint8Array();
  await pipeline(
    Readable.from(stdin),
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        if (head.length < headBytes) head = Buffer.concat([head, chunk]);
        yield chunk;
      }
    },
    createWriteStream(path),
  );
  if (head.length === 0)
    throw new UsageError("standard input is empty. Send a model or a trace to it, or name the file.");
  // By its first bytes an importer tells what it is.
  const named = join(folder, head[0] === 0x1f && head[1] === 0x8b ? "stdin.json.gz" : "stdin.json");
  await rename(path, named);
  return named;
}

const headBytes = 2;
