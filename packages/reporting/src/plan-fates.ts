import { storageUses } from "@remat/memory";
import { isPlanNode, type OpIndex, type Plan, type Trace } from "@remat/trace";

/** What a plan does with an op: nothing that is told apart, or what it is that becomes of its results. */
export type PlanFateName = "none" | "kept" | "freedEarly" | "offloaded" | "recomputed";

/** Names of fates by their numbers; where several are so of an op, the last of them counts. */
export const planFateNames: readonly PlanFateName[] = ["none", "kept", "freedEarly", "offloaded", "recomputed"];

/** What each is called where people read it. */
export const planFateLabels: Readonly<Record<PlanFateName, string>> = {
  none: "",
  kept: "kept",
  freedEarly: "freed early",
  offloaded: "offloaded",
  recomputed: "recomputed",
};

const fateOf = (name: PlanFateName): number => planFateNames.indexOf(name);

/**
 * Returns by op of `trace` what a plan for it does, as a number of {@link planFateNames}: `recomputed` runs again; results of what is `offloaded` go to host memory, those
 * of what is `freedEarly` go before the trace frees them, those of what is `kept` go when they went. Of an op without results of its own, such as a view, there is nothing to tell.
 *
 * @param plan of that trace: see `findPlanMismatch`
 */
export function planFates(trace: Trace, plan: Plan): Uint8Array {
  const fates = new Uint8Array(trace.ops.count);
  const maker = makers(trace);
  for (const op of maker) if (op >= 0) fates[op] = fateOf("kept");
  const raise = (op: OpIndex, name: PlanFateName): void => {
    if (op >= 0) fates[op] = Math.max(fates[op], fateOf(name));
  };
  const { freedBefore } = storageUses(trace);
  /** By storage: the op that comes next when the plan frees it for the last time. */
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

/** Returns the same of modules that are checkpointed: what runs again, as often as `recomputations` tells by op, is recomputed; what else has results of its own is kept. */
export function checkpointFates(trace: Trace, recomputations: Uint16Array): Uint8Array {
  const fates = Uint8Array.from(recomputations, (times) => fateOf(times > 0 ? "recomputed" : "none"));
  for (const op of makers(trace)) if (op >= 0 && fates[op] === 0) fates[op] = fateOf("kept");
  return fates;
}

/** By storage: the first op that has it among its results, and not among what it is given; -1 for none. */
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
