import { heldPeak } from "@remat/memory";
import { accountCheckpoints, CheckpointableSteps } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";
import { planTorchCheckpoints, type TorchCheckpoints, type TorchCheckpointsOptions } from "./plan-torch-checkpoints.js";

export interface TorchFrontOptions
  extends Pick<TorchCheckpointsOptions, "timeMs" | "rounds" | "seed" | "signal" | "now"> {
  /** How many policies at most. */
  readonly points: number;
}

/** A policy of a front, with what the whole run holds under it. */
export interface TorchFrontPoint extends TorchCheckpoints {
  readonly stepMs: number;
  /** By op of the trace: how often it is recomputed. */
  readonly recomputations: Uint16Array;
}

/**
 * Returns policies for `torch.utils.checkpoint` to choose from, by falling peak: of all that were tried those with nothing as good in both memory and time, spread evenly over the
 * peaks where they are more than asked for. What holds as much as the run without checkpointing is none of them.
 *
 * @throws RematError what `planTorchCheckpoints` throws
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

/** Of points by falling peak: the first, the last, and of the peaks in between the nearest to each of evenly spaced ones. */
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
