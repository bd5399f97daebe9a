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
    group: "usual",
    access: "data",
    purpose: "Peak memory allowed: a share of the baseline (0.9, 60%), or a size such as 2GB or 512MiB",
    parse: parseBudgetOption,
  }),
  option("--max-overhead <share>", {
    group: "usual",
    access: "data",
    purpose: "Instead of a budget: extra step time allowed, such as 15%",
    parse: parseShare,
  }),
  option("--plan <file>", {
    group: "usual",
    access: "file",
    reads: true,
    purpose: "Instead of a budget: a plan written by remat plan -o",
  }),
  option("--offload-on-host", {
    group: "rare",
    access: "data",
    purpose:
      "Allow a --plan with offloading even if the device computes in host memory, where offloading saves nothing",
  }),
  option("--early-release", {
    group: "usual",
    access: "data",
    purpose: "Free tensors early, without recomputation",
  }),
  updateInBackwardOption,
  option("--memory <size>", {
    group: "usual",
    access: "data",
    purpose:
      "Resident memory allowed. remat rejects a step that is predicted to need more, and ends a process that uses more",
    parse: parseSize,
  }),
  option("--reserve <size>", {
    group: "rare",
    access: "data",
    purpose: "Part of --memory that is reserved for non-tensor memory (default: nothing)",
    parse: parseSize,
  }),
  option("--steps <n>", {
    group: "usual",
    access: "data",
    purpose: "Number of steps to run",
    default: 5,
    parse: parseCount,
  }),
  option("--time <time>", {
    group: "rare",
    access: "data",
    purpose: "Time to search for a plan (default: 20s)",
    parse: parseTimeMs,
  }),
  option("--top <n>", {
    group: "rare",
    access: "data",
    purpose: "Number of largest storages to list at the measured peak",
    default: 10,
    parse: parseCount,
  }),
  option("--verify", {
    group: "usual",
    access: "data",
    purpose: "Check in separate processes that losses, gradients and weights are bitwise identical to the baseline",
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
