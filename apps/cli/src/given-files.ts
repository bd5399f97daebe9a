import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { realOutput, refusedInput, refusedOutput } from "@remat/trace/files";
import { type Command, type CommandOption, optionKey, type TypedOptions } from "./command.js";
import { foreignCompression } from "./foreign-compression.js";
import { modelFile } from "./model-source.js";
import { UsageError } from "./usage-error.js";

/** A file given to a command, and its role. */
interface GivenFile {
  readonly as: string;
  readonly path: string;
}

/**
 * Rejects an output that is the same file as an input or another output (by real path). Also rejects an output whose
 * name promises a format that is not written, and an endless input.
 *
 * @param configPath the file that some of the options come from
 * @throws UsageError naming both
 */
export function checkGivenFiles(
  command: Command,
  targets: readonly string[],
  options: TypedOptions,
  configPath: string | undefined,
): void {
  for (const option of command.options) for (const path of readFiles(option, options)) refuseEndless(option, path);
  const outputs = command.options.flatMap((option) => {
    const path = option.writes && (options[optionKey(option)] ?? option.writesByDefault?.(targets, options));
    // A value that is not text is rejected when the option is parsed.
    return typeof path === "string" && path !== "" ? [{ as: typedName(option), path, writes: option.writes }] : [];
  });
  if (outputs.length === 0) return;
  for (const { as, path } of outputs) {
    const kind = refusedOutput(path);
    if (kind !== undefined && kind !== "a folder")
      throw new UsageError(
        `${as} ${path}: it is ${kind}, not a regular file, and writing to it could block. Name a file, or redirect standard output with ${as} -.`,
      );
  }
  for (const { as, path, writes } of outputs) {
    const ending = foreignCompression(path) ?? (writes === "text" && path.endsWith(".gz") ? ".gz" : undefined);
    if (ending !== undefined)
      throw new UsageError(
        `${as} ${path}: compression as ${ending} is not supported here. Name a file without ${ending}${writes === "text" ? "" : ", or with .gz"}.`,
      );
  }
  const seen = new Map<string, GivenFile>();
  for (const { as, path } of inputsOf(command, targets, options, configPath)) {
    const real = realOutput(path === "-" ? "/dev/stdin" : path);
    if (real !== undefined) seen.set(real, { as: `${as} is read from`, path });
  }
  for (const { as, path } of outputs) {
    const real = realOutput(path);
    if (real === undefined) continue;
    const other = seen.get(real);
    if (other !== undefined)
      throw new UsageError(
        `${as} ${path} would overwrite what ${other.as}: ${other.path}. Name another file with ${as}.`,
      );
    seen.set(real, { as: `${as} writes`, path });
  }
}

/** Reading a device, a named pipe or a socket may never end. */
function refuseEndless(option: CommandOption, path: string): void {
  const kind = refusedInput(path);
  if (kind !== undefined)
    throw new UsageError(`${typedName(option)} ${path}: it is ${kind}, not a regular file. Name a regular file.`);
}

function inputsOf(
  { options: known, takesProgram }: Command,
  targets: readonly string[],
  options: TypedOptions,
  configPath: string | undefined,
): readonly GivenFile[] {
  const inputs = takesProgram
    ? targets.flatMap(filesOfArgument).map((path) => ({ as: "the program", path }))
    : targets.map((target) => ({ as: "MODEL", path: modelFile(target) }));
  for (const option of known)
    for (const path of readFiles(option, options)) inputs.push({ as: typedName(option), path: modelFile(path) });
  if (configPath !== undefined) inputs.push({ as: "--config", path: configPath });
  return inputs;
}

/** The files that an option, which may be repeated, gives the command to read. */
function readFiles(option: CommandOption, options: TypedOptions): readonly string[] {
  const given = option.reads ? [options[optionKey(option)]].flat() : [];
  return given.filter((path) => typeof path === "string");
}

/** `-o` of `-o, --output <file>`. */
const typedName = ({ flags }: CommandOption): string => flags.split(/[ ,]/, 1)[0];

/**
 * Files that an argument may name: a script (Node may add its extension), another file, or the value of `--option=`.
 */
function filesOfArgument(argument: string): readonly string[] {
  const value = argument.slice(argument.indexOf("=") + 1);
  try {
    return [argument, value, createRequire(join(process.cwd(), "program")).resolve(resolve(argument))];
  } catch {
    return [argument, value];
  }
}
