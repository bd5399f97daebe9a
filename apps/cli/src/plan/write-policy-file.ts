import { type PyTorchPolicy, toPyTorchPolicy, writePyTorchPolicy } from "@remat/pytorch";
import { formatBytes, formatMs } from "@remat/reporting";
import { type PlanSection } from "@remat/reporting/documents";
import type { ConsoleIo } from "../console-io.js";
import { writeFor } from "../output.js";
import type { FoundPlan } from "./show-plan.js";
import { type TrimmedPolicy, trimPolicy } from "./trim-policy.js";

/** Writes the checkpointing policy for PyTorch, and describes its effect. */
export async function writePolicyFile(
  { plan, trace, checkpointed, isByModule }: FoundPlan,
  path: string,
  io: ConsoleIo,
): Promise<PlanSection> {
  const whole = toPyTorchPolicy(plan, trace, checkpointed === undefined ? {} : { modules: checkpointed });
  const budgetBytes = isByModule === true ? 0 : plan.origin.budgetBytes;
  const trimmed = trimPolicy(whole, trace, budgetBytes);
  await writeFor("--pytorch-policy", path, writePyTorchPolicy(trimmed.policy), io);
  return policySection(trimmed, budgetBytes);
}

function policySection({ policy, peakBytes, recomputationMs }: TrimmedPolicy, budgetBytes: number): PlanSection {
  const modules = Object.entries(policy.modules).map(([name, ops]) => ({ name, ...count(ops) }));
  const above = budgetBytes > 0 && peakBytes > budgetBytes ? " (above the budget)" : "";
  return {
    name: "pytorchPolicy",
    data: { peakBytes, recomputationMs, modules },
    title: modules.length === 0 ? "No module to checkpoint in PyTorch" : "Checkpointed in PyTorch",
    headers: ["Module", "Ops saved", "Ops recomputed"],
    rows: modules.map(({ name, saved, recomputed }) => [name || "the model", String(saved), String(recomputed)]),
    remark:
      "Each module is recomputed as a whole when its backward pass begins. " +
      `Simulated peak memory is ${formatBytes(peakBytes)}${above}, with at most ${formatMs(recomputationMs)} more time.`,
  };
}

function count(ops: PyTorchPolicy["modules"][string]): { saved: number; recomputed: number } {
  const saved = ops.filter(({ policy }) => policy === "MUST_SAVE").length;
  return { saved, recomputed: ops.length - saved };
}
