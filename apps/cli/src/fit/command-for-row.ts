import type { RankedRow } from "@remat/fit";
import { shell } from "@remat/trace/emit";
import { formatBudget, formatExactBytes } from "@remat/trace/text";
import { optionKey, optionName, type TypedOptions } from "../command.js";
import { isOf } from "../model-source.js";
import { typedTarget } from "../standard-input.js";
import { typed } from "../verdict/next-command.js";
import { fitGridOptions } from "./fit-grid-options.js";
import { fitStepOptions } from "./fit-options.js";
import type { FitJob } from "./steps-of-job.js";

/**
 * Returns the command that runs, or plans, a step as in the best row. For a recorded run, it is the command that writes
 * the file for PyTorch, unless that is written already.
 */
export function commandForRow(
  row: RankedRow,
  targets: readonly string[],
  { typedOptions, job }: { readonly typedOptions: TypedOptions; readonly job: FitJob },
): string | undefined {
  const [source] = job.sources;
  const { apply, memory, reserve } = typedOptions;
  if (!isOf(source, "model")) return apply === undefined ? commandToApply(row, targets, typedOptions) : undefined;
  const { configuration, batch, memoryBytes, sharding, peakBytes, overhead } = row;
  if (sharding !== undefined) return undefined;
  const { way, optimizer } = configuration;
  const given = { target: targets[0], typedOptions: { ...typedOptions, batch: String(batch), optimizer } };
  // `run` limits the resident memory of the whole process.
  const limits =
    typeof memory === "string" && typeof reserve === "string" ? ["--memory", memory, "--reserve", reserve] : [];
  switch (way) {
    case "stock":
      return typed("run", given, ...limits);
    case "early-release":
      return typed("run", given, "--early-release", ...limits);
    case "update-in-backward":
      return typed("run", given, "--early-release", "--update-in-backward", ...limits);
    case "recompute":
      // If the plan adds no time, the budget is the plan's own peak.
      return typed(
        "run",
        given,
        "--budget",
        overhead === 0 ? formatBudget(peakBytes) : formatExactBytes(memoryBytes),
        ...limits,
      );
    case "offload":
      return typed("plan", given, "--budget", formatExactBytes(memoryBytes), "--link", "device");
  }
}

/** Options left out of the suggested command that writes the result: where the search runs, and its other outputs. */
const saidOnce: ReadonlySet<string> = new Set([
  ...["engine", "serve", "workers"],
  ...["watch", "matrix", "html", "store", "sqlite", "parquet", "label", "apply"],
]);

/**
 * Returns the command that writes the file with which PyTorch trains a recorded run as in the best row. Undefined if
 * PyTorch needs no such file.
 */
function commandToApply(
  { sharding, policy }: RankedRow,
  targets: readonly string[],
  typedOptions: TypedOptions,
): string | undefined {
  if (sharding === undefined && (policy ?? []).length === 0) return undefined;
  const again = [...fitGridOptions, ...fitStepOptions].flatMap((option) => {
    const name = optionName(option);
    const value = saidOnce.has(name) ? undefined : typedOptions[optionKey(option)];
    if (value === undefined || value === false || value === option.default) return [];
    return [value].flat().flatMap((each) => (each === true ? [`--${name}`] : [`--${name}`, String(each)]));
  });
  return shell`remat fit ${shell.join(targets.map((target) => shell.path(typedTarget(target))))} ${shell.words([
    ...again,
    "--apply",
    sharding === undefined ? "policy.json" : "shard.py",
  ])}`;
}
