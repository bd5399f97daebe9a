import { memoryTimeline } from "@remat/memory";
import { alignHighest } from "@remat/reporting";
import { type ShardingPlan, simulateFsdp } from "@remat/sharding";
import type { Trace } from "@remat/trace";
import type { FsdpFindings } from "../data/report-meta.js";
import type { DrawnOverlay } from "./drawn-overlay.js";

/** Simulates one rank of a run under a sharding plan. It is drawn over the run's timeline. */
export function simulateRank(
  trace: Trace,
  { name, plan }: { readonly name: string; readonly plan: ShardingPlan },
): { readonly findings: FsdpFindings; readonly overlay: DrawnOverlay } {
  const { trace: rank } = simulateFsdp(trace, plan);
  const timeline = memoryTimeline(rank);
  const { worldSize } = plan;
  const { peakBytes, bytesByCategory } = timeline.peak;
  return {
    findings: { plan: name, worldSize, peakBytes, bytesByCategory },
    overlay: {
      overlay: {
        key: "fsdp",
        label: `FSDP, rank 0 of ${worldSize}`,
        kind: "fsdp",
        peakBytes,
        note: "simulated from this run: peak memory at the matching ops",
        isGiven: true,
      },
      highestBytes: alignHighest(trace, rank, timeline),
    },
  };
}
