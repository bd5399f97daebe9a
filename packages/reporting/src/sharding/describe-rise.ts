import type { ShardingOutcome } from "@remat/sharding/compare";
import type { CategoryName } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import { labelCategory } from "../category-colours.js";

/** What sharding holds that one device does not. */
const gathering: readonly CategoryName[] = ["unshardedParameter", "allGather", "unshardedGradient", "reduceScatter"];

/** Less than this share more needs no reason. */
const worthSaying = 0.01;
/** By this factor padding is why. */
const muchPadding = 1.1;

/**
 * Returns why a rank holds more than the same step on one device, of which sharding should make less: what it holds at its peak to gather parameters and reduce gradients, with the padding of
 * parameters that have fewer rows than there are ranks, or one group that gathers them all at once. Undefined where it holds no more.
 *
 * @param aloneBytes the peak on one device
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
      ? `${shorter} of ${parameters} parameters have fewer rows than there are shards (${ranks}) and are padded, all of them from ${formatBytes(bytes)} to ${formatBytes(gatheredBytes)}; replicas= shards over fewer`
      : groups === 1
        ? "all parameters are one group, gathered at once; wrap= parts them"
        : undefined;
  const parts = [...(held.length === 0 ? [] : [`at the peak ${held.join(", ")}`]), ...(why === undefined ? [] : [why])];
  return parts.length === 0 ? undefined : `more than on one device: ${parts.join("; ")}`;
}
