import {
  type CheckpointedRegion,
  checkpointedRegions,
  type KeptByRegion,
  type KeptCause,
  type RegionFlaw,
  type Saver,
} from "@remat/memory/regions";
import { type StorageIndex, type Trace, traceNotes } from "@remat/trace";

/** The reason why a checkpointed region keeps more memory than necessary. */
export type RegionCause = Exclude<KeptCause, "result" | "policy"> | RegionFlaw;

/** Memory that regions keep for the same reason at the same place, for example in each layer of a model. */
export interface RegionExcess {
  readonly cause: RegionCause;
  readonly bytes: number;
  /** The regions, in order. */
  readonly regions: readonly CheckpointedRegion[];
  /** The op that allocated it, and its line in the program. */
  readonly maker: string | undefined;
  readonly makerLine: string | undefined;
  /**
   * For `savedOutside`, the op or region that saved it. For `readOutside`, the op that read it, or undefined if the
   * program read its values.
   */
  readonly saver: string | undefined;
}

/** Memory that checkpointed regions keep after they end, with the reasons. */
export interface RegionsSummary {
  readonly model: string;
  readonly framework: string;
  readonly trace: Trace;
  readonly regions: readonly CheckpointedRegion[];
  /** Total that regions keep after they end. Memory of nested regions counts once. */
  readonly heldBytes: number;
  /**
   * The part of that memory that no backward pass needs, and anything else that regions keep or recompute
   * unnecessarily. The largest come first.
   */
  readonly excesses: readonly RegionExcess[];
  readonly notes: readonly string[];
}

/**
 * Explains why the checkpointed regions of a recorded run do not free more memory.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * summarizeRegions(trace).excesses[0]?.cause; // "program": a list keeps a tensor of a region alive
 */
export function summarizeRegions(trace: Trace): RegionsSummary {
  const regions = checkpointedRegions(trace);
  const groups = new Map<string, { -readonly [K in keyof RegionExcess]: RegionExcess[K] }>();
  const add = (cause: RegionCause, region: CheckpointedRegion, bytes: number, kept?: KeptByRegion): void => {
    const maker = kept?.maker === undefined ? undefined : trace.opName(kept.maker);
    // For memory that no op allocated, the region's line is the closest known place.
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
      // Memory that also outlives the surrounding region is reported for that region.
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
  if (saver?.scope === undefined) return "an op that was not recorded";
  const { name, line } = trace.scopes[saver.scope];
  return `the region ${name}${line === undefined ? "" : ` (${line})`}`;
}
