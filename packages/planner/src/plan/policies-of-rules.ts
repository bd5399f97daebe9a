import { type CheckpointedModules, checkpointedUnits } from "@remat/sharding";
import type { Trace } from "@remat/trace";
import { type CheckpointedPolicy, opsToRecompute } from "./plan-of-checkpoints.js";

/**
 * Returns the policies for {@link planOfCheckpoints} that correspond to checkpointing rules: each named module
 * recomputes everything except the ops that its rule saves.
 *
 * @throws RematError `SHARDING_PLAN` for modules that do not exist or do not run, and for rules that save no existing
 * op
 * @example
 * const policies = policiesOfRules(trace, parseCheckpoint("layers.*(save=dots_saveable)"));
 * planOfCheckpoints(trace, planningGraphOfTrace(trace), policies, { budgetBytes, method: "rules" });
 */
export function policiesOfRules(
  trace: Trace,
  checkpoint: readonly CheckpointedModules[],
): readonly CheckpointedPolicy[] {
  const { calls, modules } = trace;
  // For a module that is called more than once, the last call counts.
  const opsOf = new Map(
    Array.from(
      opsToRecompute(trace, () => true),
      ([call, ops]) => [modules[calls.module[call]].fqn, ops],
    ),
  );
  const units = checkpointedUnits(trace, checkpoint, { opsOf: (fqn) => opsOf.get(fqn) });
  return units.map(({ fqn, saved }) => {
    const isSaved = new Set(saved);
    return { fqn, recomputedOps: opsOf.get(fqn)!.flatMap((_, place) => (isSaved.has(place) ? [] : [place])) };
  });
}
