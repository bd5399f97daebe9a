import { type CheckpointedModules, checkpointedUnits } from "@remat/sharding";
import type { Trace } from "@remat/trace";
import { type CheckpointedPolicy, opsToRecompute } from "./plan-of-checkpoints.js";

/**
 * Returns what rules checkpoint, as policies of {@link planOfCheckpoints}: of each module that they name all is recomputed but what they save.
 *
 * @throws RematError `SHARDING_PLAN` for modules that are not there or do not run, and rules that save nothing there is
 * @example
 * const policies = policiesOfRules(trace, parseCheckpoint("layers.*(save=dots_saveable)"));
 * planOfCheckpoints(trace, planningGraphOfTrace(trace), policies, { budgetBytes, method: "rules" });
 */
export function policiesOfRules(
  trace: Trace,
  checkpoint: readonly CheckpointedModules[],
): readonly CheckpointedPolicy[] {
  const { calls, modules } = trace;
  // Of a module that is called more than once, the last call's.
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
