import type { ShardingOutcome } from "@remat/sharding/compare";
import type { CategoryName } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import { labelCategory } from "../category-colours.js";

/** Categories that exist only with sharding. */
const gathering: readonly CategoryName[] = ["unshardedParameter", "allGather", "unshardedGradient", "reduceScatter"];

/** An increase below this share needs no explanation. */
const worthSaying = 0.01;
/** If padding increases the size by at least this factor, it is given as the reason. */
const muchPadding = 1.1;

/**
 * Explains why a rank uses more memory than the same step on one device, although sharding should reduce it. There are
 * three possible reasons: buffers for all-gathering parameters and reducing gradients at the peak, padding of
 * parameters with fewer rows than there are ranks, or a single group that all-gathers all parameters at once. Undefined
 * if the rank does not use more.
 *
 * @param aloneBytes peak on one device
 * @example
 * describeRise(shardingOutcome(trace, { name: "64", plan: { worldSize: 64 } }, runs), heldPeak(trace).peakBytes); // "more than on one device: at the peak all-gather buffers 3.563 GiB; …"
 */
export function describeRise(
  { peakBytes, bytesByCategory, sharded }: ShardingOutcome,
  aloneBytes: number,
): string | undefined {
  if (sharded === undefined || peakBytes <= (1 + worthSaying) * aloneBytes) return undefined;
  const { parameters, shorter, ranks, bytes, gatheredBytes, groups } = sharded;
  const held = gathering.flatMap((category) => {
    const at = bytesByCategory[category] ?? 0;
    return at < worthSaying * peakBytes ? [] : [`${labelCategory(category).toLowerCase()} ${formatBytes(at)}`];
  });
  const why =
    gatheredBytes >= muchPadding * bytes
      ? `${shorter} of ${parameters} parameters have fewer rows than there are shards (${ranks}), and padding grows them from ${formatBytes(bytes)} to ${formatBytes(gatheredBytes)}; replicas= shards over fewer ranks`
      : groups === 1
        ? "all parameters are one group, which is unsharded at once; wrap= splits it"
        : undefined;
  const parts = [...(held.length === 0 ? [] : [`at the peak ${held.join(", ")}`]), ...(why === undefined ? [] : [why])];
  return parts.length === 0 ? undefined : `more than on one device: ${parts.join("; ")}`;
}
