import { packetOf, rmsNormPackets } from "@remat/runtime-estimator/aten";
import { type OpIndex, Phase, type Trace } from "@remat/trace";
import type { CastStorages } from "./cast-storages.js";
import type { GroupState } from "./group-state.js";
import type { FloatIslands } from "./own-casts.js";
import type { ParameterGroup } from "./parameter-groups.js";
import type { WrappedPlan } from "./sharding-plan.js";

/** Returns a note on an op that a real device rejects, although fake tensors accept it. */
export function describeTwoDtypes(
  trace: Trace,
  { twoDtypes, lowDtype }: CastStorages,
  { ignored = [] }: Pick<WrappedPlan, "ignored">,
): string {
  const isIgnoring = ignored.length > 0;
  const call = trace.opCalls(twoDtypes).at(-1);
  const inModule = call === undefined ? "" : ` in ${trace.modules[trace.calls.module[call]].fqn}`;
  return `PyTorch rejects ${trace.opName(twoDtypes)}${inModule}, because it gets ${lowDtype} and another dtype at once. A group casts its inputs only to its own param=. Let the group before it cast its results, (…,output=float32)${isIgnoring ? ", or remove the module that makes the other dtype from ignore=" : ""}.`;
}

/**
 * Returns a note on an op of the backward pass that reads parameters although the plan leaves them sharded. Returns
 * undefined if none exists.
 */
export function describeReadSharded(trace: Trace, keptSharded: ReadonlySet<GroupState>): string | undefined {
  const groupOf = new Map(
    [...keptSharded].flatMap(({ group }) => group.parameters.map(({ storage }) => [storage, group] as const)),
  );
  if (groupOf.size === 0) return undefined;
  for (let op = 0; op < trace.ops.count; op++) {
    if (trace.ops.phase[op] !== Phase.backward || !makesSomething(trace, op)) continue;
    for (const tensor of trace.opInputs(op)) {
      const group = groupOf.get(trace.tensors.storage[tensor]);
      if (group !== undefined)
        return `PyTorch will fail in the backward pass: ${trace.opName(op)} reads parameters of ${group.fqn}, which no-unshard-in-backward= leaves sharded. Use it only for groups whose parameters no gradient needs, such as an embedding.`;
    }
  }
  return undefined;
}

/** Returns whether an op creates a new storage. An op that only creates views does not count as a reader. */
function makesSomething(trace: Trace, op: OpIndex): boolean {
  const given = new Set(Array.from(trace.opInputs(op), (tensor) => trace.tensors.storage[tensor]));
  return trace.opOutputs(op).some((tensor) => !given.has(trace.tensors.storage[tensor]));
}

/** Returns a note on the simulated rank and plan. */
export function describeRank(plan: WrappedPlan, groups: readonly ParameterGroup[]): string {
  const { rank = 0, worldSize, replicas = 1, wrap } = plan;
  const mesh = replicas === 1 ? "" : `, ${replicas} replicas of ${worldSize / replicas} shards`;
  const together = (plan.groups ?? []).flatMap(({ modules }) => modules).filter((name) => name !== "");
  const wrapped = [...new Set([...wrap, ...together])];
  const named = wrapped.length === 0 ? "the root only" : `the root and ${wrapped.join(", ")}`;
  const { storedDtype, mixedPrecision } = plan;
  const recorded = storedDtype === undefined ? "" : `, as recorded in ${mixedPrecision?.param}`;
  return `Simulated from a run on one device${recorded}: rank ${rank} of ${worldSize} under FSDP${mesh}, ${groups.length} parameter ${groups.length === 1 ? "group" : "groups"} (${named}).`;
}

/**
 * Returns a note on casts that a run in one dtype cannot show, and on the assumptions about them. Returns undefined if
 * there are none.
 */
export function describeOwnCasts(
  trace: Trace,
  { assumed, possible }: FloatIslands,
  lowDtype: string,
): string | undefined {
  if (assumed.length === 0 && possible.length === 0) return undefined;
  if (assumed.length === 0) {
    const names = possible.map((kind) => (kind === "loss" ? "the loss" : "the softmax of attention")).join(" and ");
    return `The computation of ${names} is assumed to take ${lowDtype}. Code that casts to float32 first, such as the loss of language models in Hugging Face, needs more memory: use own-casts=${possible.join("+")}.${recordedIn(trace, lowDtype)}`;
  }
  const op = trace.ops.name.findIndex((_, each) => rmsNormPackets.root.test(packetOf(trace.opName(each))));
  const inside = trace.opModule(op)?.fqn ?? "the model";
  const also = assumed.includes("softmax") ? " and the softmax of attention" : "";
  return `${inside}${also} ${also === "" ? "is" : "are"} assumed to compute in float32 and return ${lowDtype}, as in T5 and Llama, and the loss to take ${lowDtype}. For bounds of the peak, use own-casts= (nothing computes in float32) and own-casts=norm+softmax+loss (all three do).${recordedIn(trace, lowDtype)}`;
}

/**
 * Returns a note on attention without a fused kernel, because the run does not show which kernel another dtype would
 * use.
 */
export function describeUnfusedAttention(trace: Trace, softmax: number, lowDtype: string): string {
  const inside = trace.opModule(softmax)?.fqn ?? "the model";
  return `${inside} computes attention by matrix products, as PyTorch does in float32 if keys have fewer heads than queries. In ${lowDtype}, CUDA uses flash attention, and the rank needs less memory. With a mask, PyTorch computes the products in float32 anyway.${recordedIn(trace, lowDtype)}`;
}

/**
 * Returns advice to record the run in the lower dtype. Returns an empty string if such a recording exists, since
 * another note then covers it.
 */
function recordedIn(trace: Trace, lowDtype: string): string {
  if (trace.recordedIn.has(lowDtype)) return "";
  return ` To see it, record the run in ${lowDtype} as well: remat.export(…, also_in=torch.${lowDtype}).`;
}
