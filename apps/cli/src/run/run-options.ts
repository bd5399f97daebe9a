import { readInputText } from "@remat/trace/files";
import { type OptionValues, option, type TypedOptions } from "../command.js";
import { parseBudgetOption, parseShare, parseSize, parseTimeMs } from "../typed-quantities.js";
import { updateInBackwardOption, updatesInBackward } from "../update-in-backward-option.js";
import { parseCount, UsageError } from "../usage-error.js";
import type { Wanted } from "./planning-job.js";
import type { MemoryLimit } from "./require-room.js";

/** The parsed options of `remat run` except the model. */
export interface RunOptions {
  readonly wanted: Wanted;
  readonly steps: number;
  readonly timeMs: number;
  readonly verify: boolean;
  /** Undefined if there is no limit. */
  readonly memory: MemoryLimit | undefined;
}

/** The options of `remat run` except those of the step. */
export const runOptions = [
  option("--budget <size>", {
    access: "data",
    purpose: "What may be held at once: 0.9 or 60% of what stock holds, or 2GB, 512MiB",
    parse: parseBudgetOption,
  }),
  option("--max-overhead <share>", {
    access: "data",
    purpose: "In place of a budget, how much longer a step may take: 15%",
    parse: parseShare,
  }),
  option("--plan <file>", {
    access: "file",
    reads: true,
    purpose: "In place of a budget, a plan that remat plan -o wrote",
  }),
  option("--offload-on-host", {
    access: "data",
    purpose: "Follow a --plan that offloads where the device's memory is the host's, too, which saves nothing there",
  }),
  option("--early-release", {
    access: "data",
    purpose: "Nothing is recomputed; everything is freed after its last use",
  }),
  updateInBackwardOption,
  option("--memory <size>", {
    access: "data",
    purpose: "What the process may have resident: refused where a step is predicted to need more, ended where it has",
    parse: parseSize,
  }),
  option("--reserve <size>", {
    access: "data",
    purpose: "Of --memory, what is kept for what is no tensor (default: nothing)",
    parse: parseSize,
  }),
  option("--steps <n>", {
    access: "data",
    purpose: "How many steps to run",
    default: 5,
    parse: parseCount,
  }),
  option("--time <time>", {
    access: "data",
    purpose: "How long to look for a plan (default: 20s)",
    parse: parseTimeMs,
  }),
  option("--top <n>", {
    access: "data",
    purpose: "How many of the largest storages at the measured peak to list",
    default: 10,
    parse: parseCount,
  }),
  option("--verify", {
    access: "data",
    purpose: "Compare losses, gradients and weights with stock's, bit for bit, in processes of their own",
  }),
];

type RunOptionValues = OptionValues<typeof runOptions>;

/**
 * Parses the options of `remat run`.
 *
 * @param typedOptions the same options as typed
 * @throws UsageError naming the option
 */
export function runOptionsOf(options: RunOptionValues, typedOptions: TypedOptions): RunOptions {
  return {
    wanted: wantedOf(options, typedOptions),
    steps: options.steps,
    timeMs: options.time ?? 20_000,
    verify: options.verify,
    memory: memoryOf(options),
  };
}

function memoryOf({ memory, reserve }: RunOptionValues): RunOptions["memory"] {
  if (memory === undefined && reserve !== undefined)
    throw new UsageError("--reserve is a part of --memory, which was not given. Add --memory.");
  return memory === undefined ? undefined : { bytes: memory, reserveBytes: reserve ?? 0 };
}

function wantedOf(options: RunOptionValues, typedOptions: TypedOptions): Wanted {
  const updateInBackward = updatesInBackward(options);
  const given = (["budget", "maxOverhead", "plan", "earlyRelease"] as const).filter(
    (name) => typedOptions[name] !== undefined && typedOptions[name] !== false,
  );
  if (given.length > 1)
    throw new UsageError(
      "--budget, --max-overhead, --plan and --early-release cannot be combined. Pass one, or none for unmodified TensorFlow.js.",
    );
  const { budget, maxOverhead, plan, earlyRelease } = options;
  if (budget !== undefined) return { kind: "budget", budget };
  if (maxOverhead !== undefined) return { kind: "overhead", maxOverhead };
  if (plan !== undefined) return planWanted(plan);
  return earlyRelease ? { kind: "early-release", updateInBackward } : { kind: "stock" };
}

function planWanted(path: string): Wanted {
  let plan: string;
  try {
    plan = readInputText(path);
  } catch (cause) {
    throw new UsageError(`--plan ${path}: ${(cause as Error).message}. Name a file written by remat plan -o.`);
  }
  return { kind: "plan", plan, path };
}
