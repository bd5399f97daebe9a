import { formatBytes } from "@remat/trace/text";
import { formatOverhead } from "../format-quantity.js";
import type { SizeFormat } from "../size-unit.js";
import { labelDevice } from "./label-device.js";

/** A change that makes a step fit, with the resulting peak. Without the change, the step does not fit. */
export type WayToFit =
  /** The executor runs without a plan: no recomputation, and most tensors are freed after their last use. */
  | { readonly kind: "early-release"; readonly peakBytes: number }
  /** A plan in which every op runs once and everything is freed after its last use. */
  | { readonly kind: "unrecomputed"; readonly peakBytes: number }
  /** A plan with recomputation. `overhead` is the extra time as a fraction of the step's. */
  | { readonly kind: "plan"; readonly peakBytes: number; readonly overhead: number }
  | { readonly kind: "batch"; readonly peakBytes: number; readonly batch: number }
  /** Weights sharded over several ranks (FSDP), in modules of these names or patterns. */
  | {
      readonly kind: "sharding";
      readonly peakBytes: number;
      readonly worldSize: number;
      readonly wrap: readonly string[];
      /** Modules that are also checkpointed as a whole. Left out if there are none. */
      readonly checkpoint?: readonly string[];
    }
  | { readonly kind: "device"; readonly peakBytes: number; readonly device: string; readonly memoryBytes: number };

/** Describes a way to fit in a few words: "batch 16: 61.2 GiB". */
export function describeWay(way: WayToFit, size: SizeFormat = formatBytes): string {
  const peak = size(way.peakBytes);
  switch (way.kind) {
    case "early-release":
      return `with early release (${peak}, no slowdown)`;
    case "unrecomputed":
      return `with a plan without recomputation (${peak}, no slowdown)`;
    case "plan":
      return `with a plan (${peak}, ${formatOverhead(way.overhead)} more time)`;
    case "batch":
      return `with batch ${way.batch} (${peak})`;
    case "sharding":
      return `with FSDP over ${way.worldSize} ranks${way.checkpoint === undefined ? "" : ` and ${way.checkpoint.join(", ")} checkpointed`} (${peak} each)`;
    case "device":
      return `on ${labelDevice(way.device)} (${size(way.memoryBytes)})`;
  }
}
