import { inspect } from "node:util";
import { budgetNotFound } from "@remat/memory";
import { RematError } from "@remat/trace";
import { type ShellCode, shell, terminal } from "@remat/trace/emit";
import { CommanderError } from "commander";
import { type CommandEntry, nameOfEntry } from "./command.js";
import { makeProgram, type TypedCommand } from "./command-line.js";
import { commands } from "./commands/registry.js";
import { type ConfiguredOptions, readConfigFile } from "./config-file.js";
import type { ConsoleIo } from "./console-io.js";
import { checkGivenFiles } from "./given-files.js";
import { configOption, shapedIo } from "./global-options.js";
import { lackOfDescriptors } from "./lack-of-descriptors.js";
import { isTooDeep, namingModel } from "./model-code-error.js";
import { namingPlanFiles } from "./plan-file-error.js";
import { withStandardInput } from "./standard-input.js";
import { UsageError } from "./usage-error.js";

/** Exit codes of the command. */
const ExitCode = { ok: 0, failed: 1, usage: 2, notFound: 3 } as const;

/**
 * Runs `remat` with `args` (without node and script) and returns its exit code. 0: success. 1: a model or file cannot
 * be used, or nothing can fit. 2: wrong command line. 3: no plan was found in the given time, although there may be
 * one. 130: Ctrl-C ended the search before everything was covered. Errors are one line on stderr with the next step.
 */
export async function runCli(args: readonly string[], io: ConsoleIo): Promise<number> {
  const given = askedForHelp(args);
  try {
    if (given.length === 0 && io.terminal !== undefined) {
      await (await entryNamed("ui")!.load()).run([], {}, io);
      return ExitCode.ok;
    }
    let exitCode: number = ExitCode.ok;
    const program = await makeProgram(given, io, async (typed) => {
      exitCode = (await runTyped(typed, io)) ?? ExitCode.ok;
    });
    if (given.length === 0) {
      program.outputHelp();
      return ExitCode.usage;
    }
    await program.parseAsync(given, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return ExitCode.ok;
    // Without a command, help has already been printed.
    if (error instanceof CommanderError && error.code === "commander.help") return ExitCode.usage;
    return report(error, given.find(entryNamed), io);
  }
}

/** Turns `remat help plan` into `remat plan --help`. An unknown command is an error that names the nearest one. */
function askedForHelp(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first !== "help") return args;
  return rest.length === 0 || entryNamed(rest[0]) !== undefined ? [...rest, "--help"] : rest;
}

function entryNamed(name: string): CommandEntry | undefined {
  return commands.find((entry) => nameOfEntry(entry) === name);
}

/** Runs a command with typed options, then options from a config file, then defaults. */
async function runTyped({ entry, command, targets, options }: TypedCommand, io: ConsoleIo): Promise<number | void> {
  const config = configOption.read(options);
  const configured =
    config === false ? undefined : await readConfigFile(entry, command, process.cwd(), config, options);
  const all = { ...configured?.options, ...options };
  if (configured?.strangerId !== undefined) io.stderr.write(terminal`remat: ${leftOut(configured)}\n`);
  if (configured !== undefined && Object.keys(configured.options).length > 0)
    io.stderr.write(terminal`remat: ${configured.path} says ${describe(configured.options)}\n`);
  checkGivenFiles(command, targets, all, configured?.path);
  const run = (given: readonly string[]) => command.run(given, all, shapedIo(io, all));
  if (command.takesProgram) return run(targets);
  try {
    let exitCode: number | void = undefined;
    await withStandardInput(targets, io, async (files) => {
      exitCode = await run(files);
    });
    return exitCode;
  } catch (error) {
    throw namingModel(namingPlanFiles(error, all), targets);
  }
}

function leftOut({ path, strangerId }: ConfiguredOptions): string {
  const file = shell.path(path);
  return `${path} is ignored, because it belongs to another user (${strangerId}). Use it with --config ${file}, or pass --no-config.`;
}

function describe(options: Readonly<Record<string, unknown>>): ShellCode {
  return shell.words(
    Object.entries(options).flatMap(([key, value]) => {
      const name = `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      return value === true ? [name] : [value].flat().flatMap((each) => [name, String(each)]);
    }),
  );
}

/** Library errors that can only be caused by the command line. */
const usageCodes: ReadonlySet<string> = new Set(["LOSS_UNKNOWN", "OPTIMIZER_UNKNOWN", "MODULE_PATTERN"]);

function report(error: unknown, command: string | undefined, io: ConsoleIo): number {
  const lack = lackOfDescriptors(error);
  if (lack !== undefined) {
    io.stderr.write(terminal.lines([`remat: ${lack}`]));
    return ExitCode.failed;
  }
  // Commander's own complaints (unknown option, missing argument) are usage errors as well.
  const usage =
    error instanceof UsageError ||
    error instanceof CommanderError ||
    (error instanceof RematError && usageCodes.has(error.code));
  const message = messageOf(error);
  const expected = usage || error instanceof RematError;
  const debug = io.env["REMAT_DEBUG"] !== undefined;
  let hint = "";
  if (usage && !/see remat/.test(message)) hint = `See remat ${command === undefined ? "" : `${command} `}--help.`;
  else if (!expected && !debug) hint = "Set REMAT_DEBUG=1 to see where it was thrown.";
  const end = hint === "" ? "" : `${/[.?!]$/.test(message) ? "" : "."} ${hint}`;
  const [said, code] = hasCode(error) ? inTwo(message) : [message, []];
  io.stderr.write(terminal`remat: ${said.replace(/\s+/g, (run) => (run.includes("\n") ? " " : run))}${end}\n`);
  io.stderr.write(terminal.lines(code));
  if (debug) io.stderr.write(terminal.listing(`${inspect(error)}\n`));
  if (error instanceof RematError && error.code === budgetNotFound) return ExitCode.notFound;
  return usage ? ExitCode.usage : ExitCode.failed;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error);
  if (error instanceof CommanderError)
    return error.message.replace(/^error: /, "").replace(/\n\(Did you mean (.*)\?\)$/, "; did you mean $1?");
  if (isTooDeep(error))
    return (
      `the model is too deep (${error.message}): tfjs-layers recurses once per layer in a row, or the model's own code recurses without end. ` +
      "Split a long model into models of at most 1,000 layers each."
    );
  return error.message;
}

/** Returns whether the message is followed by code to copy. */
const hasCode = (error: unknown): boolean => error instanceof RematError && error.code === "KERAS_LAYER_UNKNOWN";

/** Splits the message from the lines of code after it. */
function inTwo(message: string): [said: string, code: readonly string[]] {
  const at = message.indexOf("\n\n");
  if (at < 0) return [message, []];
  const lines = message.slice(at + 1).split("\n");
  return [message.slice(0, at), lines.map((line) => `    ${line}`.trimEnd())];
}
