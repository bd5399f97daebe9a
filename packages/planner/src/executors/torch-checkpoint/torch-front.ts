import { heldPeak } from "@remat/memory";
import { accountCheckpoints, CheckpointableSteps } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";
import { planTorchCheckpoints, type TorchCheckpoints, type TorchCheckpointsOptions } from "./plan-torch-checkpoints.js";

/** Options for {@link torchFront}. */
export interface TorchFrontOptions
  extends Pick<TorchCheckpointsOptions, "timeMs" | "rounds" | "seed" | "signal" | "now"> {
  /** Largest number of policies to return. */
  readonly points: number;
}

/** A policy of a front, with the memory and time of the whole run under it. */
export interface TorchFrontPoint extends TorchCheckpoints {
  readonly stepMs: number;
  /** For each op of the trace, how many times it is recomputed. */
  readonly recomputations: Uint16Array;
}

/**
 * Returns policies for `torch.utils.checkpoint` to choose from, by decreasing peak: those for which no other tried
 * policy is better in both memory and time. If there are more than requested, it selects policies whose peaks are
 * spread evenly. Policies that need as much memory as the run without checkpointing are left out.
 *
 * @throws RematError as `planTorchCheckpoints`
 */
export function torchFront(trace: Trace, { points, ...options }: TorchFrontOptions): readonly TorchFrontPoint[] {
  const { tradeOffs, stepMs } = planTorchCheckpoints(trace, options);
  const all = tradeOffs
    .filter(({ policy }) => policy.length > 0)
    .sort((a, b) => b.peakBytes - a.peakBytes || a.overhead - b.overhead);
  const steps = new CheckpointableSteps(trace);
  const recordedPeakBytes = heldPeak(trace).peakBytes;
  return spread(all, points)
    .map((one) => {
      const { peakBytes, recomputations } = accountCheckpoints(steps, one.policy);
      return { ...one, peakBytes, recomputations, stepMs: stepMs * (1 + one.overhead) };
    })
    .filter(({ peakBytes }) => peakBytes < recordedPeakBytes);
}

/**
 * Selects points by decreasing peak: the first, the last, and in between, for evenly spaced peaks, the nearest point
 * below each.
 */
function spread<Point extends Pick<TorchCheckpoints, "peakBytes">>(all: readonly Point[], points: number): Point[] {
  if (all.length <= points) return [...all];
  const most = all[0].peakBytes;
  const least = all.at(-1)!.peakBytes;
  const chosen = new Set<Point>();
  for (let i = 0; i < points; i++) {
    const wanted = most + ((least - most) * i) / Math.max(1, points - 1);
    chosen.add(all.find(({ peakBytes }) => peakBytes <= wanted) ?? all.at(-1)!);
  }
  return [...chosen];
}
