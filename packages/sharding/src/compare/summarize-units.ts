import { heldPeak } from "@remat/memory";
import { type OpIndex, phaseNames, type Trace } from "@remat/trace";
import { type ShardingPlan, simulateFsdp } from "../index.js";

/** A time span in which the parameters of a unit are unsharded on the rank. */
export interface GatheredSpan {
  /** The first op of the rank's trace in the span. */
  readonly fromOp: number;
  /** The op after the last in the span. */
  readonly toOp: number;
  /** The phase and module that run at the start of the span. */
  readonly from: string;
  /** The phase and module that run at the end of the span. */
  readonly to: string;
}

/** An FSDP unit on a rank: modules that are all-gathered and resharded together. */
export interface UnitSummary {
  /** The names of the unit's modules. */
  readonly modules: readonly string[];
  /** Bytes of the unit's parameters on the rank while they are sharded. */
  readonly shardBytes: number;
  /** Bytes of the unit's parameters while they are all-gathered. */
  readonly gatheredBytes: number;
  /** The time spans in which the unit is unsharded. */
  readonly spans: readonly GatheredSpan[];
  /** True if the unit is unsharded at the rank's memory peak. */
  readonly isGatheredAtPeak: boolean;
}

/**
 * Returns the FSDP units of a plan, with the time spans in which each is unsharded.
 *
 * @throws RematError as `simulateFsdp` does
 * @example
 * summarizeUnits(trace, { worldSize: 8 }).filter(({ isGatheredAtPeak }) => isGatheredAtPeak);
 */
export function summarizeUnits(trace: Trace, sharding: ShardingPlan): readonly UnitSummary[] {
  const { trace: rank, groups, work } = simulateFsdp(trace, sharding);
  const { op: peakOp } = heldPeak(rank);
  const spans: [number, number][][] = groups.map(() => []);
  const since = new Map<number, number>();
  for (const item of work) {
    if (item.kind === "use") since.set(item.group, item.op);
    else if (item.kind === "reshard") {
      spans[item.group].push([since.get(item.group) ?? 0, item.op]);
      since.delete(item.group);
    }
  }
  for (const [group, from] of since) spans[group].push([from, rank.ops.count]);
  return groups.map(({ modules, parameters }, group) => ({
    modules: modules.map((module) => rank.modules[module].fqn),
    shardBytes: parameters.reduce((sum, { shardBytes }) => sum + shardBytes, 0),
    gatheredBytes: parameters.reduce((sum, { gatheredBytes }) => sum + gatheredBytes, 0),
    spans: spans[group].map(([fromOp, toOp]) => ({
      fromOp,
      toOp,
      from: placeOf(rank, fromOp),
      to: placeOf(rank, toOp - 1),
    })),
    isGatheredAtPeak: spans[group].some(([from, to]) => from <= peakOp && peakOp < to),
  }));
}

function placeOf(trace: Trace, op: OpIndex): string {
  const at = Math.min(op, trace.ops.count - 1);
  const module = trace.opModule(at);
  return `${phaseNames[trace.ops.phase[at]]}${module === undefined ? "" : ` of ${module.fqn}`}`;
}
