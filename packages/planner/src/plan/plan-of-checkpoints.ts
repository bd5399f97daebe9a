import {
  type CallIndex,
  fingerprintOf,
  forwardOpsByCall,
  OpFlag,
  Phase,
  type Plan,
  RematError,
  row,
  type Trace,
} from "@remat/trace";
import type { TracePlanningGraph } from "../graph/planning-graph-of-trace.js";
import { simulateSchedule } from "../schedule/simulate-schedule.js";
import { planOfTrace } from "./plan-of-trace.js";

/** A checkpointed module, and its ops that are recomputed. */
export interface CheckpointedPolicy {
  readonly fqn: string;
  /** Indices into the lists of the module's `SACStats`, as in `ModulePolicy.recomputedOps`. */
  readonly recomputedOps: Iterable<number>;
}

/** Options for {@link planOfCheckpoints}. */
export interface PlanOfCheckpointsOptions {
  /** The budget that the policies were made for. */
  readonly budgetBytes: number;
  /** The method that made the policies, for the plan's origin. */
  readonly method: string;
}

/**
 * Returns the plan that corresponds to policies of modules, for the whole step. Everything that a checkpointed module
 * frees is recomputed when the backward pass of that call first reads any of it, and stays alive until its last use.
 * PyTorch's selective checkpointing works the same way. The predicted peak is therefore the memory that such policies
 * really need. In contrast, {@link planModules} only computes an upper bound, and {@link planModule} considers only one
 * module. Ops whose results no later op needs do not run again. Results that cannot be recomputed (random ops of
 * TensorFlow.js) stay alive, even if a policy frees them.
 *
 * @param graph the planning graph of the same trace
 * @throws RematError `POLICY_INPUT` for a module without a forward call in the trace
 * @example
 * const { modules } = await planModules(stats, { budgetBytes });
 * const policies = await Promise.all(modules.map(async ({ fqn, freedShare }) =>
 *   ({ fqn, ...(await planModule(sac.get(fqn), { budgetFraction: 1 - freedShare })) })));
 * planOfCheckpoints(trace, planningGraphOfTrace(trace), policies, { budgetBytes, method: "modules" }).predicted.peakBytes;
 */
export function planOfCheckpoints(
  trace: Trace,
  graph: TracePlanningGraph,
  policies: readonly CheckpointedPolicy[],
  { budgetBytes, method }: PlanOfCheckpointsOptions,
): Plan {
  const sequence = checkpointSequence(graph, checkpointedCalls(trace, policies), trace);
  const plainSequence = Int32Array.from({ length: graph.nodeCount }, (_, v) => v);
  const plain = simulateSchedule(graph, plainSequence)!;
  const { peakBytes, cost } = simulateSchedule(graph, sequence)!;
  const plan = planOfTrace(trace, graph, {
    isFeasible: peakBytes <= budgetBytes,
    sequence,
    peakBytes,
    cost,
    overhead: plain.cost > 0 ? (cost - plain.cost) / plain.cost : 0,
    lowerBound: plain.cost,
    gap: cost > 0 ? (cost - plain.cost) / cost : 0,
    budgetBytes,
    order: "fixed",
    seed: 0,
    iterations: 0,
    seconds: 0,
    plain: { peakBytes: plain.peakBytes, cost: plain.cost },
    workingSet: { bytes: 0, node: 0 },
    isProvenInfeasible: false,
  });
  return { ...plan, origin: { method, budgetBytes, order: "fixed" } };
}

interface CheckpointedCall {
  readonly call: number;
  /** Ascending. */
  readonly ops: readonly number[];
}

/**
 * Returns the ops that each forward call of the policies' modules recomputes. The statistics are those of the last
 * call. A call that ran other ops is not checkpointed.
 */
function checkpointedCalls(trace: Trace, policies: readonly CheckpointedPolicy[]): CheckpointedCall[] {
  const { calls, modules } = trace;
  const policyOf = new Map(policies.map((policy) => [policy.fqn, [...policy.recomputedOps]]));
  const opsOfCall = opsToRecompute(trace, (fqn) => policyOf.has(fqn));
  const kernels = (list: readonly number[]) => fingerprintOf(list.map((op) => trace.opName(op)));
  return policies.flatMap(({ fqn }) => {
    const ofModule = [...opsOfCall].filter(([call]) => modules[calls.module[call]].fqn === fqn);
    const last = ofModule.at(-1);
    if (last === undefined)
      throw new RematError("POLICY_INPUT", `module policy: ${fqn} runs no op in this trace. Name another module.`);
    const recomputed = policyOf.get(fqn)!;
    const unknown = recomputed.find((i) => !(i < last[1].length));
    if (unknown !== undefined)
      throw new RematError(
        "POLICY_INPUT",
        `module policy: op ${unknown} of ${fqn} does not exist: it has ${last[1].length} ops. Use the statistics of this trace.`,
      );
    return ofModule
      .filter(([, list]) => kernels(list) === kernels(last[1]))
      .map(([call, list]) => ({ call, ops: recomputed.map((i) => list[i]).sort((a, b) => a - b) }));
  });
}

/**
 * Returns the forward ops of each call of the modules selected by `isMeant`, as listed in the statistics of a module.
 */
export function opsToRecompute(
  trace: Trace,
  isMeant: (fqn: string) => boolean,
): ReadonlyMap<number, readonly number[]> {
  const { ops, calls, modules } = trace;
  const meant = modules.map(({ fqn }) => isMeant(fqn));
  const opsOfCall = new Map<number, readonly number[]>();
  for (const [call, all] of forwardOpsByCall(trace).entries()) {
    if (!meant[calls.module[call]]) continue;
    const asked = all.filter((op) => (ops.flags[op] & OpFlag.sacSkip) === 0);
    if (asked.length > 0) opsOfCall.set(call, asked);
  }
  return opsOfCall;
}

/**
 * Returns the plain order with recomputation inserted: all results that a call freed are recomputed where its backward
 * pass first reads any of them.
 */
function checkpointSequence(
  graph: TracePlanningGraph,
  checkpointed: readonly CheckpointedCall[],
  trace: Trace,
): Int32Array {
  const { nodeCount, opOfNode, recomputable, outputs, consumers } = graph;
  const nodeOfOp = new Map<number, number>();
  for (let v = 0; v < nodeCount; v++) if (opOfNode[v] >= 0) nodeOfOp.set(opOfNode[v], v);
  const before = new Map<number, number[]>();
  for (const { call, ops } of checkpointed) {
    const nodes = ops.flatMap((op) => {
      const v = nodeOfOp.get(op);
      return v !== undefined && recomputable[v] === 1 && outputs.start[v + 1] > outputs.start[v] ? [v] : [];
    });
    const trigger = triggerOf(nodes, call);
    if (trigger === nodeCount) continue;
    const needed = new Set<number>();
    for (const v of nodes.toReversed())
      for (const value of row(outputs, v))
        if (row(consumers, value).some((reader) => reader >= trigger || needed.has(reader))) needed.add(v);
    const list = nodes.filter((v) => needed.has(v));
    before.set(trigger, [...(before.get(trigger) ?? []), ...list]);
  }
  const sequence: number[] = [];
  for (let v = 0; v < nodeCount; v++) {
    sequence.push(...[...new Set(before.get(v))].sort((a, b) => a - b), v);
  }
  return Int32Array.from(sequence);

  /**
   * Returns the first op of the call's own backward pass that reads any of the results. If a result has readers outside
   * the call, it stays alive for these readers.
   */
  function triggerOf(nodes: readonly number[], call: CallIndex): number {
    let trigger = nodeCount;
    for (const v of nodes)
      for (const value of row(outputs, v))
        for (const reader of row(consumers, value)) {
          const op = opOfNode[reader];
          const isOwn = op >= 0 && trace.ops.phase[op] !== Phase.forward && trace.opCalls(op).includes(call);
          if (isOwn) trigger = Math.min(trigger, reader);
        }
    return trigger;
  }
}
