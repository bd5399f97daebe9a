import {
  type CheckpointedRegion,
  checkpointedRegions,
  type KeptByRegion,
  type KeptCause,
  type RegionFlaw,
  type Saver,
} from "@remat/memory/regions";
import { type StorageIndex, type Trace, traceNotes } from "@remat/trace";

/** Why a checkpointed region holds more than it has to. */
export type RegionCause = Exclude<KeptCause, "result" | "policy"> | RegionFlaw;

/** What regions hold for the same reason, at the same place: in each layer of a model, say. */
export interface RegionExcess {
  readonly cause: RegionCause;
  readonly bytes: number;
  /** The regions, in order. */
  readonly regions: readonly CheckpointedRegion[];
  /** What made it, and the line of the program that this comes from. */
  readonly maker: string | undefined;
  readonly makerLine: string | undefined;
  /** Of `savedOutside`: who saved it; of `readOutside`: the op that read it, undefined where the program read its values. */
  readonly saver: string | undefined;
}

/** What checkpointed regions hold when they are over, and why. */
export interface RegionsSummary {
  readonly model: string;
  readonly framework: string;
  readonly trace: Trace;
  readonly regions: readonly CheckpointedRegion[];
  /** Sum of what each holds when it is over; of a region inside another one, once. */
  readonly heldBytes: number;
  /** What of that no backward pass needs there, and what regions hold or recompute besides; the largest first. */
  readonly excesses: readonly RegionExcess[];
  readonly notes: readonly string[];
}

/**
 * Returns why the checkpointed regions of a recorded run do not release more memory.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * summarizeRegions(trace).excesses[0]?.cause; // "program": a list holds what a region made
 */
export function summarizeRegions(trace: Trace): RegionsSummary {
  const regions = checkpointedRegions(trace);
  const groups = new Map<string, { -readonly [K in keyof RegionExcess]: RegionExcess[K] }>();
  const add = (cause: RegionCause, region: CheckpointedRegion, bytes: number, kept?: KeptByRegion): void => {
    const maker = kept?.maker === undefined ? undefined : trace.opName(kept.maker);
    // Of what no op made, the line of the region is as near as can be told.
    const { line } = trace.scopes[region.scope];
    const makerLine = kept === undefined ? undefined : kept.maker === undefined ? line : trace.opLine(kept.maker);
    const isOfSaver = cause === "savedOutside" || (cause === "readOutside" && kept?.saver !== undefined);
    const saver = isOfSaver ? describeSaver(trace, kept?.saver) : undefined;
    const key = JSON.stringify([cause, maker, makerLine, saver, kept === undefined && trace.scopes[region.scope].line]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { cause, bytes, regions: [region], maker, makerLine, saver });
    else {
      group.bytes += bytes;
      if (!group.regions.includes(region)) group.regions = [...group.regions, region];
    }
  };
  let heldBytes = 0;
  for (const region of regions)
    for (const kept of region.kept) {
      // What outlives the region around this one, too, is told of that.
      if (regions.some((outer) => isAround(trace, outer, region) && holds(outer, kept.storage))) continue;
      heldBytes += kept.bytes;
      if (kept.cause !== "result" && kept.cause !== "policy") add(kept.cause, region, kept.bytes, kept);
    }
  for (const region of regions) for (const { flaw, bytes } of region.flaws) add(flaw, region, bytes);
  return {
    model: trace.header.model ?? "model",
    framework: trace.header.framework,
    trace,
    regions,
    heldBytes,
    excesses: [...groups.values()].sort((a, b) => b.bytes - a.bytes),
    notes: traceNotes(trace),
  };
}

function holds({ kept }: CheckpointedRegion, storage: StorageIndex): boolean {
  return kept.some((each) => each.storage === storage);
}

function isAround(trace: Trace, outer: CheckpointedRegion, inner: CheckpointedRegion): boolean {
  for (let scope = trace.scopes[inner.scope].parent; scope >= 0; scope = trace.scopes[scope].parent)
    if (scope === outer.scope) return true;
  return false;
}

function describeSaver(trace: Trace, saver: Saver | undefined): string {
  if (saver?.op !== undefined) {
    const module = trace.opModule(saver.op)?.fqn;
    const line = trace.opLine(saver.op);
    const place = [module, line].filter((part) => part !== undefined).join(", ");
    return `${trace.opName(saver.op)}${place === "" ? "" : ` (${place})`}`;
  }
  if (saver?.scope === undefined) return "an op that the recording does not tell";
  const { name, line } = trace.scopes[saver.scope];
  return `the region ${name}${line === undefined ? "" : ` (${line})`}`;
}
