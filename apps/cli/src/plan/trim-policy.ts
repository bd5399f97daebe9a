import { type CheckpointedPolicy, planOfCheckpoints } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import type { PyTorchOpPolicy, PyTorchPolicy } from "@remat/pytorch";
import { forwardOpsByCall, OpFlag, Phase, type Trace } from "@remat/trace";

export interface TrimmedPolicy {
  readonly policy: PyTorchPolicy;
  /** Simulated. */
  readonly peakBytes: number;
  /** Upper bound on the recomputation time: everything that is not saved, in every module. */
  readonly recomputationMs: number;
}

/**
 * Leaves as many modules uncheckpointed, later ones first, as the budget allows. PyTorch recomputes a checkpointed
 * module as a whole, including results that are not needed. So a policy frees more memory than its plan and takes more
 * time, and checkpointing fewer modules is enough.
 */
export function trimPolicy(policy: PyTorchPolicy, trace: Trace, budgetBytes: number): TrimmedPolicy {
  // PyTorch restores the generator's state, so random ops are recomputed as well.
  const graph = planningGraphOfTrace(trace, { isReplayable: (op) => trace.ops.phase[op] === Phase.forward });
  const units = Object.entries(policy.modules).map(([name, ops]) => recomputedIn(trace, name, ops));
  const peakOf = (kept: ReadonlySet<Unit>) =>
    planOfCheckpoints(trace, graph, [...kept], { budgetBytes, method: "PyTorch" }).predicted.peakBytes;
  const kept = new Set(units);
  let peakBytes = peakOf(kept);
  for (const unit of units.toReversed()) {
    kept.delete(unit);
    const without = peakOf(kept);
    if (without <= budgetBytes) peakBytes = without;
    else kept.add(unit);
  }
  const inOrder = units.filter((unit) => kept.has(unit));
  return {
    policy: { ...policy, modules: Object.fromEntries(inOrder.map(({ name }) => [name, policy.modules[name]])) },
    peakBytes,
    recomputationMs: inOrder.reduce((sum, unit) => sum + unit.ms, 0),
  };
}

interface Unit extends CheckpointedPolicy {
  /** Its name within the model, as in the policy. */
  readonly name: string;
  readonly ms: number;
}

/**
 * The ops that a policy recomputes in a module's last call. They are indices into the ops of that call that selective
 * checkpointing does not ignore.
 */
function recomputedIn(trace: Trace, name: string, policies: readonly PyTorchOpPolicy[]): Unit {
  const { ops, calls, modules } = trace;
  const isRecomputed = new Set(
    policies.filter(({ policy }) => policy === "PREFER_RECOMPUTE").map(({ op, ordinal }) => `${op} ${ordinal}`),
  );
  const isUnit = (fqn: string) => (name === "" ? !fqn.includes(".") : fqn.slice(fqn.indexOf(".") + 1) === name);
  const call = calls.module.findLastIndex((module) => isUnit(modules[module].fqn));
  const count = new Map<string, number>();
  const recomputedOps: number[] = [];
  let position = 0;
  let ms = 0;
  for (const op of forwardOpsByCall(trace)[call]) {
    const ordinal = count.get(trace.opName(op)) ?? 0;
    count.set(trace.opName(op), ordinal + 1);
    const isOpRecomputed = isRecomputed.has(`${trace.opName(op)} ${ordinal}`);
    if (isOpRecomputed && ops.runtimeMs[op] > 0) ms += ops.runtimeMs[op];
    if (ops.flags[op] & OpFlag.sacSkip) continue;
    if (isOpRecomputed) recomputedOps.push(position);
    position++;
  }
  return { fqn: modules[calls.module[call]].fqn, name, recomputedOps, ms };
}
