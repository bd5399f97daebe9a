import { heldPeak, releasedPeakBytes, tellsLifetimes } from "@remat/memory";
import type { CategoryName, DeviceSpec, Trace } from "@remat/trace";
import { describeVerdict, verdictSeparator } from "./describe-verdict.js";
import type { Outcome, Verdict } from "./verdict.js";
import type { WayToFit } from "./way-to-fit.js";

/** What may come next of a step that fits, or where nobody knows. */
export type NextStep = { readonly kind: "early-release" | "explore" };

export interface VerdictOptions {
  /** The device that the step is meant for. */
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly outcome?: Outcome;
  /** See `waysToFit`. */
  readonly ways?: readonly WayToFit[];
  /** Returns what to type for a way, or for the next step of what fits; undefined where there is nothing to type. */
  commandFor?(step: WayToFit | NextStep): string | undefined;
}

/** Less than this share of the peak is not worth a word. */
export const worthSaying = 0.01;

/** What is known of a step's memory. Bytes as allocated. */
export interface StepMemory {
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Partial<Record<string, number>>>;
  /** Where everything is freed after its last use; left out: that cannot be said. */
  readonly earlyReleasePeakBytes?: number;
}

/**
 * Returns the verdict on what a step holds as it was recorded: the peak, what of it is what, whether it fits, and the next step. Undefined for a run that
 * says nothing about when storages are freed.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * judgeMemory(trace, { device: deviceSpec("a100") })?.sentence; // "peak 4.61 GiB of 80 GiB (a100): fits, …"
 */
export function judgeMemory(trace: Trace, options: VerdictOptions): Verdict | undefined {
  if (!tellsLifetimes(trace)) return undefined;
  // PyTorch frees by reference counts already; what a step of it could free earlier is for its program to say.
  const isReleasable = trace.header.framework === "tfjs";
  return judgeStep(
    { ...heldPeak(trace), ...(isReleasable && { earlyReleasePeakBytes: releasedPeakBytes(trace) }) },
    options,
  );
}

/** Returns the same of a step of which only the peak is at hand, with where that is known what early release leaves of it. */
export function judgeStep(
  { peakBytes, bytesByCategory, earlyReleasePeakBytes = peakBytes }: StepMemory,
  { device, outcome, ways, commandFor }: VerdictOptions,
): Verdict {
  const { memoryBytes } = device;
  const spareBytes = memoryBytes === undefined ? undefined : memoryBytes - peakBytes;
  const fits = spareBytes === undefined ? undefined : spareBytes >= 0;
  const isWorthReleasing = peakBytes - earlyReleasePeakBytes >= worthSaying * Math.max(1, peakBytes);
  const next: NextStep = { kind: isWorthReleasing && fits !== false ? "early-release" : "explore" };
  const figures = {
    peakBytes,
    categories: Object.entries(bytesByCategory)
      .map(([category, bytes = 0]) => ({
        category: category as CategoryName,
        bytes,
        share: bytes / Math.max(1, peakBytes),
      }))
      .sort((a, b) => b.bytes - a.bytes),
    device: device.name,
    deviceMemoryBytes: memoryBytes,
    fits,
    spareBytes,
    earlyReleasePeakBytes: isWorthReleasing ? earlyReleasePeakBytes : undefined,
    outcome,
    ways: fits === false ? ways : undefined,
    command: commandFor?.(ways?.[0] ?? next),
  };
  const facts = describeVerdict(figures);
  return { ...figures, facts, sentence: facts.join(verdictSeparator) };
}
