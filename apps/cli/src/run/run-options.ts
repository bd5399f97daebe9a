import { readInputText } from "@remat/trace/files";
import type { CommandOptions } from "../command.js";
import { parseBudgetOption, parseShare, parseSize, parseTimeMs } from "../plan/plan-options.js";
import { parseUpdateInBackward } from "../update-in-backward-option.js";
import { parseCount, parseText, UsageError } from "../usage-error.js";
import type { Wanted } from "./planning-job.js";
import type { MemoryLimit } from "./require-room.js";

/** What `remat run` was asked for, besides the model. */
export interface RunOptions {
  readonly wanted: Wanted;
  readonly steps: number;
  readonly timeMs: number;
  readonly verify: boolean;
  /** Undefined where nobody says. */
  readonly memory: MemoryLimit | undefined;
}

/**
 * Parses the options of `remat run`.
 *
 * @throws UsageError naming the option
 */
export function parseRunOptions(options: CommandOptions): RunOptions {
  return {
    wanted: parseWanted(options),
    steps: parseCount("steps", options["steps"] ?? 5),
    timeMs: options["time"] === undefined ? 20_000 : parseTimeMs(options["time"]),
    verify: options["verify"] === true,
    memory: parseMemory(options),
  };
}

function parseMemory({ memory, reserve }: CommandOptions): RunOptions["memory"] {
  if (memory === undefined && reserve !== undefined)
    throw new UsageError("--reserve is of the --memory that the process may have. Give that, too.");
  if (memory === undefined) return undefined;
  return {
    bytes: parseSize("memory", memory),
    reserveBytes: reserve === undefined ? 0 : parseSize("reserve", reserve),
  };
}

function parseWanted(options: CommandOptions): Wanted {
  const updateInBackward = parseUpdateInBackward(options);
  const given = ["budget", "maxOverhead", "plan", "earlyRelease"].filter(
    (name) => options[name] !== undefined && options[name] !== false,
  );
  if (given.length > 1)
    throw new UsageError(
      "--budget, --max-overhead, --plan and --early-release exclude each other: each says how much memory a step may hold. Give one, or none for stock.",
    );
  switch (given[0]) {
    case "budget":
      return { kind: "budget", budget: parseBudgetOption(options["budget"]) };
    case "maxOverhead":
      return { kind: "overhead", maxOverhead: parseShare("max-overhead", options["maxOverhead"]) };
    case "plan":
      return planWanted(parseText("plan", options["plan"]));
    case "earlyRelease":
      return { kind: "early-release", updateInBackward };
    default:
      return { kind: "stock" };
  }
}

function planWanted(path: string): Wanted {
  let plan: string;
  try {
    plan = readInputText(path);
  } catch (cause) {
    throw new UsageError(`--plan ${path}: ${(cause as Error).message}. Expected a file that remat plan -o wrote.`);
  }
  return { kind: "plan", plan, path };
}
