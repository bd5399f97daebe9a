import { tellsLifetimes } from "@remat/memory";
import { accountOfFailure, type FailureRemedy } from "@remat/memory/failure";
import { StepFacts } from "@remat/memory/sequence";
import { type CategoryName, countReplayedOps, type DeviceSpec, type Trace } from "@remat/trace";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeVerdict } from "./describe-verdict.js";
import { verdictSeparator } from "./fact-lines.js";
import { freeWay } from "./free-way.js";
import { judgeFailure } from "./judge-failure.js";
import type { FittingBatch, GivenStep, LeastHeld, Outcome, Verdict } from "./verdict.js";
import type { WayToFit } from "./way-to-fit.js";

/** What may come next where nothing is to be won for nothing: a look at what less memory costs. */
export type NextStep = { readonly kind: "explore" };

const explore: NextStep = { kind: "explore" };

export interface VerdictOptions {
  /** The device that the step is meant for. */
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly outcome?: Outcome | undefined;
  /** Of a step that is judged without the blocks that are checkpointed by hand: what it holds with them. */
  readonly given?: GivenStep | undefined;
  /** Unit of all sizes in words; left out: what suits each. */
  readonly units?: SizeUnit | undefined;
  /** See `waysToFit`. */
  readonly ways?: readonly WayToFit[] | undefined;
  /** Where these are none: see `leastHeld`. */
  readonly least?: LeastHeld | undefined;
  /** Of a prediction: see `largestFittingBatch`. */
  readonly largestBatch?: FittingBatch | null | undefined;
  /** Returns what to type for a way, for the next step of what fits, or for a run that had no memory left; undefined where there is nothing to type. */
  commandFor?(step: WayToFit | NextStep | FailureRemedy): string | undefined;
}

/** What is known of a step's memory. Bytes as allocated. */
export interface StepMemory {
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Partial<Record<string, number>>>;
  /** With early release; left out: that cannot be said. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** Of a plan without recomputation; left out: that cannot be said. */
  readonly unrecomputedPeakBytes?: number;
  /** How many of its ops recompute what is checkpointed by hand; left out: none. */
  readonly recomputedOps?: number;
  /** Where its trace breaks off, so that it may hold more; left out: nowhere. */
  readonly truncated?: Trace["truncated"];
}

/**
 * Returns the verdict on what a step holds as it was recorded: the peak, what of it is what, whether it fits, and the next step. Undefined for a run that
 * says nothing about when storages are freed. Of one that had no memory left it is why: see {@link judgeFailure}.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * judgeMemory(trace, { device: deviceSpec("a100") })?.sentence; // "peak 4.61 GiB of 80 GiB (a100): fits, …"
 */
export function judgeMemory(step: Trace | StepFacts, options: VerdictOptions): Verdict | undefined {
  const facts = StepFacts.of(step);
  const { trace, earlyReleasePeakBytes } = facts;
  const failure = accountOfFailure(trace);
  if (failure !== undefined) return judgeFailure(failure, options);
  if (!tellsLifetimes(trace)) return undefined;
  if (trace.header.step?.predict === true) {
    const { device, units, largestBatch } = options;
    return judgeStep(
      { ...facts.peak, earlyReleasePeakBytes, truncated: trace.truncated },
      { device, units, largestBatch },
    );
  }
  const recomputedOps = countReplayedOps(trace);
  // PyTorch frees by reference counts already; what a step of it could free earlier is for its program to say.
  const isReleasable = trace.header.framework === "tfjs" && recomputedOps === 0;
  const memory = { ...facts.peak, truncated: trace.truncated, recomputedOps };
  if (isReleasable) {
    const { unrecomputedPeakBytes } = facts;
    return judgeStep({ ...memory, earlyReleasePeakBytes, unrecomputedPeakBytes }, options);
  }
  if (recomputedOps === 0) return judgeStep({ ...memory, earlyReleasePeakBytes }, options);
  // What is run by a plan or released early is the step without what it recomputes.
  const { commandFor: _, ...others } = options;
  return judgeStep(memory, others);
}

/** Returns the same of a step of which only the peak is at hand. */
export function judgeStep(
  {
    peakBytes,
    bytesByCategory,
    earlyReleasePeakBytes,
    unrecomputedPeakBytes,
    recomputedOps = 0,
    truncated,
  }: StepMemory,
  { device, outcome, given, units, ways, least, largestBatch, commandFor }: VerdictOptions,
): Verdict {
  const { memoryBytes } = device;
  const isWhole = truncated === undefined;
  // What comes after the end of a damaged trace may hold more.
  const isKnown = memoryBytes !== undefined && (isWhole || peakBytes > memoryBytes);
  const spareBytes = isKnown ? memoryBytes - peakBytes : undefined;
  const fits = spareBytes === undefined ? undefined : spareBytes >= 0;
  const free = isWhole ? freeWay({ peakBytes, earlyReleasePeakBytes, unrecomputedPeakBytes }) : undefined;
  // Where nothing makes it fit there is nothing to type that would.
  const next = fits === false ? (ways === undefined ? explore : ways[0]) : (free ?? explore);
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
    earlyReleasePeakBytes,
    unrecomputedPeakBytes,
    free,
    recomputedOps,
    given,
    outcome,
    truncated,
    ways: fits === false && isWhole ? ways : undefined,
    least: fits === false && isWhole && ways?.length === 0 ? least : undefined,
    largestBatch,
    command: isWhole && next !== undefined ? commandFor?.(next) : undefined,
  };
  const facts = describeVerdict(figures, sizeFormat(units));
  return { ...figures, facts, sentence: facts.join(verdictSeparator) };
}
