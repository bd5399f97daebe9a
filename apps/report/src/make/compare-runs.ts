import { memoryTimeline, momentOfPeak, tellsLifetimes } from "@remat/memory";
import { alignHighest, compareView, moduleTreeView } from "@remat/reporting";
import { sacStats } from "@remat/sac-core";
import { RuntimeSource, type Trace } from "@remat/trace";
import type { Comparison } from "../data/report-meta.js";
import type { DrawnOverlay } from "./drawn-overlay.js";

/** A run with its name. */
interface NamedRun {
  readonly name: string;
  readonly trace: Trace;
}

/** Compares a run with another one. The other one is drawn over its timeline if its memory is known. */
export function compareRuns(
  trace: Trace,
  title: string,
  { name, trace: other }: NamedRun,
): { readonly comparison: Comparison; readonly overlay: DrawnOverlay | undefined } {
  const isMeasured = other.header.mode === "real" || other.ops.runtimeSource.includes(RuntimeSource.measured);
  const side = (run: Trace, called: string) => {
    const timeline = tellsLifetimes(run) ? memoryTimeline(run) : undefined;
    return {
      timeline,
      compared: {
        name: called,
        trace: run,
        modules: moduleTreeView(run, sacStats(run)),
        peak: timeline && momentOfPeak(run, timeline.peak, { limit: 5 }),
      },
    };
  };
  const mine = side(trace, title);
  const theirs = side(other, name);
  const overlay = theirs.timeline && {
    overlay: {
      key: "compare",
      label: name,
      kind: isMeasured ? "measured" : "other",
      peakBytes: theirs.compared.peak?.totalBytes ?? 0,
      note: `${isMeasured ? "measured" : "another run"}: peak memory at the matching ops`,
      isGiven: true,
    } as const,
    highestBytes: alignHighest(trace, other, theirs.timeline),
  };
  return { comparison: { name, isMeasured, view: compareView(mine.compared, theirs.compared) }, overlay };
}
