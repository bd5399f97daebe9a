import type { ConsoleIo } from "./console-io.js";

/** A command's options as cac parses them. */
export type CommandOptions = Readonly<Record<string, unknown>>;

/** One option: as cac writes it, and what it is for. */
export interface CommandOption {
  readonly flags: string;
  readonly purpose: string;
  readonly default?: string | number;
}

/** A command of `remat`: what a file in `commands/` exports. */
export interface Command {
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  /** Of a command that takes MODEL: what it takes besides models and traces, a line of help each. */
  readonly takesModelAnd?: readonly string[];
  /** Runs it with what was given besides options. */
  run(targets: readonly string[], options: CommandOptions, io: ConsoleIo): Promise<void>;
}

/** A line of the registry: enough for `remat --help`; the command itself is loaded when it is asked for. */
export interface CommandEntry {
  /** Its name and what it takes, as cac writes it. */
  readonly usage: string;
  readonly purpose: string;
  readonly load: () => Promise<Command>;
}
