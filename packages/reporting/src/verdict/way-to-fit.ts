import { formatBytes } from "@remat/trace/text";
import { formatOverhead } from "../format-quantity.js";
import type { SizeFormat } from "../size-unit.js";

/** A change with which a step fits that does not fit by itself, computed for this step, with the peak that it then has. */
export type WayToFit =
  /** What the executor does without a plan: nothing is recomputed, and most is freed after its last use. */
  | { readonly kind: "early-release"; readonly peakBytes: number }
  /** A plan in which every op runs once and everything is freed after its last use. */
  | { readonly kind: "unrecomputed"; readonly peakBytes: number }
  /** Some of it is recomputed, for so much more time, as a fraction of the step's. */
  | { readonly kind: "plan"; readonly peakBytes: number; readonly overhead: number }
  | { readonly kind: "batch"; readonly peakBytes: number; readonly batch: number }
  /** The step of one rank of many over which weights are sharded (FSDP), in modules of these names or patterns. */
  | {
      readonly kind: "sharding";
      readonly peakBytes: number;
      readonly worldSize: number;
      readonly wrap: readonly string[];
      /** What of it is checkpointed, as a whole; left out: nothing. */
      readonly checkpoint?: readonly string[];
    }
  | { readonly kind: "device"; readonly peakBytes: number; readonly device: string; readonly memoryBytes: number };

/** Describes a way in a few words: "batch 16: 61.2 GiB". */
export function describeWay(way: WayToFit, size: SizeFormat = formatBytes): string {
  const peak = size(way.peakBytes);
  switch (way.kind) {
    case "early-release":
      return `early release ${peak} at no cost`;
    case "unrecomputed":
      return `a plan without recomputation ${peak} at no cost`;
    case "plan":
      return `a plan ${peak} for ${formatOverhead(way.overhead)} more time`;
    case "batch":
      return `batch ${way.batch} ${peak}`;
    case "sharding":
      return `FSDP over ${way.worldSize}${way.checkpoint === undefined ? "" : ` with ${way.checkpoint.join(", ")} checkpointed`} ${peak} each`;
    case "device":
      return `${way.device} has ${size(way.memoryBytes)}`;
  }
}
