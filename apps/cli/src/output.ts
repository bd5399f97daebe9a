import { RematError } from "@remat/trace";
import { type TerminalText } from "@remat/trace/emit";
import { type Content, checkOutput, isStandardOutput, writeOutput } from "@remat/trace/files";
import type { ConsoleIo } from "./console-io.js";
import { UsageError } from "./usage-error.js";

/** Writes an option's output to the file that it names, `-` for standard output. Errors name the option. */
export async function writeFor(option: string, path: string, content: Content, io: ConsoleIo): Promise<void> {
  try {
    await writeOutput(path, content, { stdout: io.stdout });
  } catch (cause) {
    throw cannotWrite(option, path, cause);
  }
}

/** Fails in the cases in which {@link writeFor} would fail, before there is anything to write. */
export function checkFor(option: string, path: string): void {
  try {
    checkOutput(path);
  } catch (cause) {
    throw cannotWrite(option, path, cause);
  }
}

const cannotWrite = (option: string, path: string, cause: unknown): RematError =>
  new RematError(
    "OUTPUT_WRITE",
    `${path}: cannot be written (${(cause as Error).message}). Choose another file with ${option}.`,
    { cause },
  );

/**
 * Returns where a command prints its answer: standard output, or standard error if one of its output files is standard
 * output. `files` are the output files by option.
 *
 * @throws UsageError if two of the files are standard output
 */
export function shownBeside(
  io: ConsoleIo,
  files: Readonly<Record<string, string | undefined>>,
): { write(text: TerminalText): unknown } {
  const there = Object.keys(files).filter((option) => files[option] !== undefined && isStandardOutput(files[option]));
  if (there.length > 1)
    throw new UsageError(`${there.join(" and ")} both write to standard output. Name a file for one of them.`);
  return there.length === 1 ? io.stderr : io.stdout;
}
