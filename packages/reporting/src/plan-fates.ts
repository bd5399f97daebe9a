import { storageUses } from "@remat/memory";
import { isPlanNode, type OpIndex, type Plan, type Trace } from "@remat/trace";

/** The effect of a plan on an op's results. */
export type PlanFateName = "none" | "kept" | "freedEarly" | "offloaded" | "recomputed";

/** Fates in the order of their numbers. If several apply to an op, the highest number wins. */
export const planFateNames: readonly PlanFateName[] = ["none", "kept", "freedEarly", "offloaded", "recomputed"];

/** Display name of each fate. */
export const planFateLabels: Readonly<Record<PlanFateName, string>> = {
  none: "",
  kept: "kept",
  freedEarly: "freed early",
  offloaded: "offloaded",
  recomputed: "recomputed",
};

const fateOf = (name: PlanFateName): number => planFateNames.indexOf(name);

/**
 * Returns the fate of each op of `trace` under a plan, as an index into {@link planFateNames}. `recomputed`: the op
 * runs again. `offloaded`: its results move to host memory. `freedEarly`: its results are freed before the trace frees
 * them. `kept`: its results are freed when the trace frees them. An op without results of its own, such as a view, is
 * `none`.
 *
 * @param plan a plan of that trace: see `findPlanMismatch`
 */
export function planFates(trace: Trace, plan: Plan): Uint8Array {
  const fates = new Uint8Array(trace.ops.count);
  const maker = makers(trace);
  for (const op of maker) if (op >= 0) fates[op] = fateOf("kept");
  const raise = (op: OpIndex, name: PlanFateName): void => {
    if (op >= 0) fates[op] = Math.max(fates[op], fateOf(name));
  };
  const { freedBefore } = storageUses(trace);
  /** For each storage: the next op at the time the plan frees it for the last time. */
  const gone = new Map<number, number>();
  let next = 0;
  for (const { op, isRecomputed, free, offload = [] } of plan.steps) {
    if (isRecomputed) raise(op, "recomputed");
    else next = op + 1;
    for (const value of free) for (const storage of storagesOf(trace, plan, value)) gone.set(storage, next);
    for (const value of offload)
      for (const storage of storagesOf(trace, plan, value)) raise(maker[storage], "offloaded");
  }
  for (const [storage, before] of gone)
    if (freedBefore[storage] < 0 || before < freedBefore[storage]) raise(maker[storage], "freedEarly");
  return fates;
}

/**
 * Returns the fates for checkpointed modules. An op that runs again is `recomputed` (`recomputations` has the number of
 * repeated runs). Any other op with results of its own is `kept`.
 */
export function checkpointFates(trace: Trace, recomputations: Uint16Array): Uint8Array {
  const fates = Uint8Array.from(recomputations, (times) => fateOf(times > 0 ? "recomputed" : "none"));
  for (const op of makers(trace)) if (op >= 0 && fates[op] === 0) fates[op] = fateOf("kept");
  return fates;
}

/**
 * Returns, for each storage, the first op that has it among its results but not among its inputs, or -1 if there is
 * none.
 */
function makers(trace: Trace): Int32Array {
  const maker = new Int32Array(trace.storages.count).fill(-1);
  const isKnown = new Uint8Array(trace.storages.count);
  for (let op = 0; op < trace.ops.count; op++) {
    for (const tensor of trace.opInputs(op)) for (const storage of trace.tensorStorages(tensor)) isKnown[storage] = 1;
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) {
        if (isKnown[storage] === 0) maker[storage] = op;
        isKnown[storage] = 1;
      }
  }
  return maker;
}

function storagesOf(trace: Trace, plan: Plan, value: Plan["steps"][number]["free"][number]): readonly number[] {
  if (!("op" in value) || isPlanNode(plan.ops[value.op])) return [];
  const tensor = trace.opOutputs(value.op)[value.output];
  return tensor === undefined ? [] : trace.tensorStorages(tensor);
}
