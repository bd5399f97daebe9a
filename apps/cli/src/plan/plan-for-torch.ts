import { budgetNotFound, heldPeak } from "@remat/memory";
import { CheckpointedSteps, type CheckpointPolicy, hostShare } from "@remat/memory/checkpointing";
import {
  executorOf,
  planTorchCheckpoints,
  type TorchCheckpoints,
  type TorchCheckpointsAnswer,
  torchCheckpointExecutor,
} from "@remat/planner/executors";
import { type CheckpointPolicyFile, toCheckpointPolicyFile, writeCheckpointPolicyFile } from "@remat/pytorch";
import { formatTypedPercent, isEstimated } from "@remat/reporting";
import { type CheckpointsPoint, checkpointsDocument } from "@remat/reporting/documents";
import { RematError, type Trace } from "@remat/trace";
import type { TerminalText } from "@remat/trace/emit";
import { formatBudget, formatBytes, formatTypedBytes } from "@remat/trace/text";
import type { ConsoleIo } from "../console-io.js";
import { writeFor } from "../output.js";
import type { Pricing } from "../pricing-options.js";
import type { Progress } from "../progress.js";
import { describeBudget } from "../typed-quantities.js";
import { UsageError } from "../usage-error.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { type Given, typed } from "../verdict/next-command.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { placesOfParts } from "./places-of-parts.js";
import { type PlanOptions } from "./plan-options.js";
import type { Shown } from "./show-plan.js";

/** Returns whether a step is planned for `torch.utils.checkpoint`: on request, and by default for runs of PyTorch. */
export function isForTorch(trace: Trace, { executor }: PlanOptions, name: string): boolean {
  const isPyTorch = trace.header.framework === torchCheckpointExecutor.framework;
  if (executor === torchCheckpointExecutor && !isPyTorch)
    throw new UsageError(
      `--executor ${executor.name} is for PyTorch runs; ${name} is a run of ${trace.header.framework}. Remove it.`,
    );
  return (executor ?? executorOf(trace)) === torchCheckpointExecutor;
}

/** Further input of planning for PyTorch. */
export interface TorchRequest {
  readonly given: Given;
  readonly pricing: Pick<Pricing, "device" | "isAsked">;
  readonly pricedFor: string;
  readonly asked: PlanOptions;
  readonly shown: Shown;
  readonly io: ConsoleIo;
  readonly progress: Progress;
  readonly write: (text: TerminalText) => void;
}

/**
 * Plans which modules to checkpoint, shows the result next to manual policies, and writes the policy. A budget that no
 * policy meets is an error.
 */
export async function planForTorch(trace: Trace, name: string, request: TorchRequest): Promise<void> {
  const { given, pricing, asked, shown, io, progress, write } = request;
  const { budget, maxOverhead, timeMs, seed, pyTorchPolicy, units } = asked;
  progress.show(`planning ${name}`, true);
  const answer = planTorchCheckpoints(trace, {
    budget,
    maxOverhead,
    timeMs,
    seed,
    units,
  });
  const { found, least } = answer;
  const file = toCheckpointPolicyFile(trace, found?.policy ?? []);
  const outcome = found ?? least;
  const isWritten = pyTorchPolicy !== undefined;
  const within = (peakBytes: number): string =>
    budget === undefined ? formatBudget(peakBytes) : describeBudget(budget);
  const command =
    isWritten || found === undefined
      ? undefined
      : typed("plan", given, "--budget", within(found.peakBytes), "--pytorch-policy", "policy.json");
  const judged = {
    name: found === undefined ? "smallest found" : "planned",
    peakBytes: outcome.peakBytes,
    overhead: outcome.overhead,
  };
  const verdict = await giveVerdict(trace, { ...given, pricing, outcome: judged, command }, progress);
  progress.clear();
  if (found !== undefined && isWritten)
    await writeFor("--pytorch-policy", pyTorchPolicy, writeCheckpointPolicyFile(file), io);
  const summary = { ...summaryOf(trace, name, answer, file, request.pricedFor), host: hostShare(trace) };
  write(withVerdictFirst(checkpointsDocument(summary, shown.units), verdict, shown.format, io));
  if (found === undefined) throw notFound(name, { answer, maxOverhead, fixedBytes: fixedBytesOf(trace, least) });
}

function summaryOf(
  trace: Trace,
  name: string,
  answer: TorchCheckpointsAnswer,
  file: CheckpointPolicyFile,
  pricedFor: string,
) {
  const { found, plain, least, stepMs, budgetBytes, byHand, refused } = answer;
  const point = (title: string, one: TorchCheckpoints): CheckpointsPoint => {
    const { peakBytes, recomputeMs, bookkeepingMs, overhead } = one;
    return { name: title, peakBytes, recomputeMs, bookkeepingMs, overhead };
  };
  const fits = byHand.filter(({ peakBytes }) => budgetBytes === undefined || peakBytes <= budgetBytes);
  const quickest = fits.toSorted((a, b) => a.overhead - b.overhead)[0];
  const shownByHand = [...new Set([quickest, byHand[0]])].filter((one) => one !== undefined);
  return {
    name,
    pricedFor,
    isEstimated: isEstimated(trace),
    stepMs,
    budgetBytes,
    plain: point("stock", plain),
    planned: found && point("planned", found),
    units: Object.entries(file.modules).map(([module, { save, parts = [] }]) => ({
      name: module || "the model",
      saved: save.map(({ op }) => op),
      parts,
      places: parts.length > 0 ? placesOfParts(trace, module, parts) : undefined,
    })),
    least: point("least found", least),
    byHand: shownByHand.map((one) => point(`by hand: ${one.name}`, one)),
    refused: inOwnCode(refused, found?.policy ?? []),
  };
}

/**
 * The modules that cannot be checkpointed. A module inside one that is checkpointed as a whole is left out, because it
 * runs again anyway.
 */
function inOwnCode(refused: ReadonlyMap<string, string>, policy: CheckpointPolicy): ReadonlyMap<string, string> {
  const isCovered = (fqn: string) => policy.some((unit) => unit.ops === undefined && fqn.startsWith(`${unit.fqn}.`));
  const reasons = [...refused].filter(([fqn, reason]) => !isCovered(fqn) && !reason.startsWith("it saves no"));
  return new Map(reasons);
}

/** Memory at a policy's peak that no checkpointing frees: weights, their gradients, and optimizer state. */
function fixedBytesOf(trace: Trace, { policy }: TorchCheckpoints): number {
  const { bytesByCategory: held } = heldPeak(new CheckpointedSteps(trace).under(policy, "least"));
  return ([held.parameter, held.buffer, held.gradient, held.optimizerState] as const).reduce<number>(
    (sum, bytes = 0) => sum + bytes,
    0,
  );
}

function notFound(
  name: string,
  {
    answer: { budgetBytes, plain, least, refused },
    maxOverhead,
    fixedBytes,
  }: {
    readonly answer: TorchCheckpointsAnswer;
    readonly maxOverhead: number | undefined;
    readonly fixedBytes: number;
  },
): RematError {
  const within = budgetBytes === undefined ? "" : ` within ${formatBytes(budgetBytes)}`;
  const dear = maxOverhead === undefined ? "" : ` for at most ${formatTypedPercent(maxOverhead)} more time`;
  // If no policy frees anything, a longer search does not either.
  const remedy = least.peakBytes < plain.peakBytes ? "Give a larger budget, or more --time." : "Give a larger budget.";
  return new RematError(
    budgetNotFound,
    `${name}: no checkpointing fits${within}${dear}. ` +
      `The smallest peak found is ${formatTypedBytes(least.peakBytes)} (${formatBytes(plain.peakBytes)} without ` +
      `checkpointing), ${formatBytes(fixedBytes)} of it weights, gradients and optimizer state. ` +
      `${remedy}${describeRefused(refused)}`,
  );
}

const mostModulesNamed = 5;

/**
 * Describes which modules cannot run again, by reason. Only the innermost ones are listed, since those around them have
 * the same reason.
 */
function describeRefused(refused: ReadonlyMap<string, string>): string {
  const own = [...inOwnCode(refused, [])].filter(([, reason]) => reason !== "it is not a module of the model");
  const innermost = own.filter(
    ([fqn, reason]) => !own.some(([inner, same]) => same === reason && inner.startsWith(`${fqn}.`)),
  );
  const byReason = new Map<string, string[]>();
  for (const [fqn, reason] of innermost.slice(0, mostModulesNamed))
    byReason.set(reason, [...(byReason.get(reason) ?? []), fqn.slice(fqn.indexOf(".") + 1)]);
  const groups = [...byReason].map(([reason, fqns]) => `${fqns.join(", ")} (${reason})`);
  const others = innermost.length - mostModulesNamed;
  if (groups.length === 0) return "";
  return ` These modules cannot run again: ${groups.join("; ")}${others > 0 ? `; and ${others} more` : ""}.`;
}
