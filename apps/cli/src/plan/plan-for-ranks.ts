import { budgetNotFound } from "@remat/memory";
import { type PlannedSharding, type PlanShardingAnswer, planSharding } from "@remat/planner/sharding";
import { shardingsDocument } from "@remat/reporting/sharding";
import { fullyShardCode, requireFullyShardable, writeShardingPlan } from "@remat/sharding";
import { compareShardings, receivedBytes, shardingOutcome } from "@remat/sharding/compare";
import { type DeviceNetwork, RematError, type Trace } from "@remat/trace";
import { type TerminalText } from "@remat/trace/emit";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import type { OptionValues } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { shapeOf } from "../format-option.js";
import { writeFor } from "../output.js";
import type { Pricing } from "../pricing-options.js";
import type { Progress } from "../progress.js";
import { networkOf, type TypedSharding } from "../sharding-option.js";
import { UsageError } from "../usage-error.js";
import type { PlanOptions } from "./plan-options.js";
import type { planSearchOptions } from "./plan-search-options.js";
import type { Shown } from "./show-plan.js";

/** The part of `remat plan`'s options that is about ranks. */
export interface RanksAsked {
  readonly sharding: TypedSharding;
  readonly network: DeviceNetwork | undefined;
  readonly codePath: string | undefined;
}

/**
 * Returns the part of `remat plan`'s options that is about ranks, or undefined if none exist.
 *
 * @throws UsageError
 */
export function ranksAsked(
  options: OptionValues<typeof planSearchOptions>,
  asked: PlanOptions,
  pricing: Pricing,
): RanksAsked | undefined {
  const { fsdp: sharding, fsdpCode: codePath, network } = options;
  if (sharding === undefined) {
    if (codePath !== undefined || network !== undefined)
      throw new UsageError(
        `--${codePath === undefined ? "network" : "fsdp-code"} needs a sharding plan. Add one, such as --fsdp world=8.`,
      );
    return undefined;
  }
  const wrong = [
    [
      asked.checkpoint !== undefined,
      "--checkpoint",
      "put it in the plan (--fsdp world=8,checkpoint='layers.*'), or let remat choose",
    ],
    [asked.pyTorchPolicy !== undefined, "--pytorch-policy", "--fsdp-code also writes the checkpointing"],
    [asked.maxOverhead !== undefined, "--max-overhead", "remat already looks for the fastest plan within --budget"],
    [asked.paretoPoints > 0, "--pareto", "run it once per --budget"],
    [options.executor !== undefined, "--executor", "the plan is for fully_shard"],
    [asked.worldSize > 1, "--world-size", "write world=8 in the plan"],
    [asked.fsdpUnits.length > 0, "--fsdp-units", "write wrap= in the plan"],
    [asked.iterations !== undefined, "--iterations", "limit the search with --time"],
  ] as const;
  for (const [isGiven, option, instead] of wrong)
    if (isGiven) throw new UsageError(`${option} cannot be combined with --fsdp: ${instead}.`);
  return { sharding, network: networkOf(network, pricing.device), codePath };
}

/** Further input of planning for ranks. */
export interface RanksRequest {
  readonly ranks: RanksAsked;
  readonly pricing: Pricing;
  readonly asked: PlanOptions;
  readonly shown: Shown;
  readonly io: ConsoleIo;
  readonly progress: Progress;
  readonly write: (text: TerminalText) => void;
}

/**
 * Plans how one of many ranks wraps, reshards and checkpoints within a budget, and shows the result next to the given
 * plan and the usual manual ones. A budget that no plan meets is an error.
 */
export async function planForRanks(trace: Trace, name: string, request: RanksRequest): Promise<void> {
  const { ranks, pricing, asked, shown, io, progress, write } = request;
  const { sharding, network, codePath } = ranks;
  const { device } = pricing;
  // Checked before the search. A failure after it would lose the plan.
  if (codePath !== undefined) requireFullyShardable(trace.header.framework, name);
  const judge = { device, network };
  progress.show(`planning ${name}`, true);
  const answer = planSharding(trace, sharding.plan, {
    budget: asked.budget!,
    timeMs: asked.timeMs,
    seed: asked.seed,
    network,
    stepUnder(plan, run) {
      const { peakBytes, time, communication } = shardingOutcome(trace, { name: "rank", plan }, run, judge);
      return { peakBytes, stepMs: time?.stepMs, receivedBytes: receivedBytes(communication) };
    },
  });
  progress.clear();
  const { found, budgetBytes } = answer;
  if (found !== undefined) {
    if (asked.output !== undefined) await writeFor("-o", asked.output, writeShardingPlan(found.plan), io);
    if (codePath !== undefined) await writeFor("--fsdp-code", codePath, fullyShardCode(trace, found.plan), io);
  }
  const comparison = compareShardings(trace, rowsOf(answer, sharding.name), { ...judge, memoryBytes: budgetBytes });
  const document = shardingsDocument(comparison, { trace, pricedFor: device.name, units: shown.units });
  const lines = remarks(answer, sharding.name);
  const parts = () => [...document.parts(), { kind: "text" as const, lines }];
  write(shown.format.write({ ...document, parts }, shapeOf(io)));
  if (found === undefined) throw notFound(name, answer);
}

function remarks({ found, tried, isCutShort }: PlanShardingAnswer, typed: string): readonly string[] {
  const ways =
    tried === 1
      ? "the given plan leaves nothing to choose"
      : `tried ${tried} combinations of wrapping, resharding and checkpointing`;
  const extent = `${ways}${isCutShort ? ", until time ran out: --time 60s searches longer" : ""}`;
  return [extent, ...(found === undefined ? [] : [`planned: ${[typed, found.added].filter(Boolean).join(",")}`])];
}

/** The given plan, manual plans, and the plan that was found, each once. */
function rowsOf({ given, byHand, found, least }: PlanShardingAnswer, typed: string) {
  const planned = found ?? least;
  const name = found === undefined ? "smallest found" : "planned";
  const rows = new Map<string, PlannedSharding>([given, ...byHand, planned].map((one) => [one.added, one]));
  return [...rows.values()].map((one) => ({
    name: one.added === "" ? typed : one === planned ? name : `…,${one.added}`,
    plan: one.plan,
  }));
}

function notFound(name: string, { budgetBytes, least, tried, isCutShort }: PlanShardingAnswer): RematError {
  const { added, peakBytes } = least;
  const more = isCutShort ? ", or more --time" : "";
  const which =
    tried === 1
      ? "the plan as given does not keep"
      : `none of ${tried} strategies to wrap, reshard and checkpoint keeps`;
  return new RematError(
    budgetNotFound,
    `${name}: ${which} a rank within ${formatBytes(budgetBytes)}; ` +
      `the smallest peak found is ${formatTypedBytes(peakBytes)}${added === "" ? "" : `, with ${added}`}. ` +
      `Use a larger budget, more ranks, or offload${more}.`,
  );
}
