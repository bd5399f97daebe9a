import type { BaselineStep, MemoryBaseline } from "./memory-baseline.js";

/** How much more a step may hold than it did: a share of that, bytes, or at most so many bytes in all. */
export type PeakLimit =
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "more"; readonly bytes: number }
  | { readonly kind: "most"; readonly bytes: number };

/** What of a step holds more, or less, than it did. */
export interface ChangedPart {
  readonly name: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** A step beside what it was. */
export interface CheckedStep {
  readonly name: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** The most that it may hold. */
  readonly limitBytes: number;
  readonly passes: boolean;
  /** What changed most first. */
  readonly categories: readonly ChangedPart[];
  /** Innermost modules that changed, what changed most first. */
  readonly modules: readonly ChangedPart[];
}

export interface MemoryCheck {
  readonly steps: readonly CheckedStep[];
  /** Of those asked for, which the baseline does not know. */
  readonly unknown: readonly string[];
  /** Which are another step than the baseline's: taken with another batch, say. */
  readonly other: readonly { readonly name: string; readonly before: string; readonly after: string }[];
  readonly passes: boolean;
}

/**
 * Holds steps against a baseline: which hold more than they may, and of what. A step that the baseline does not know, or knows as another step, does not pass.
 *
 * @example
 * checkMemory({ "./model.js": baselineStep(trace) }, readMemoryBaseline(text), { kind: "share", share: 0.02 }).passes;
 */
export function checkMemory(now: MemoryBaseline, baseline: MemoryBaseline, limit: PeakLimit): MemoryCheck {
  const steps: CheckedStep[] = [];
  const unknown: string[] = [];
  const other: { name: string; before: string; after: string }[] = [];
  for (const [name, after] of Object.entries(now)) {
    const before = Object.hasOwn(baseline, name) ? baseline[name] : undefined;
    if (before === undefined) unknown.push(name);
    else if (before.step === after.step) steps.push(checkStep(name, before, after, limit));
    else other.push({ name, before: before.step, after: after.step });
  }
  const passes = unknown.length === 0 && other.length === 0 && steps.every((step) => step.passes);
  return { steps, unknown, other, passes };
}

function checkStep(name: string, before: BaselineStep, after: BaselineStep, limit: PeakLimit): CheckedStep {
  const limitBytes = limitOf(before.peakBytes, limit);
  return {
    name,
    beforeBytes: before.peakBytes,
    afterBytes: after.peakBytes,
    limitBytes,
    passes: after.peakBytes <= limitBytes,
    categories: changes(before.bytesByCategory, after.bytesByCategory),
    modules: innermost(changes(before.bytesByModule, after.bytesByModule)),
  };
}

function limitOf(bytes: number, limit: PeakLimit): number {
  switch (limit.kind) {
    case "share":
      return Math.floor(bytes * (1 + limit.share));
    case "more":
      return bytes + limit.bytes;
    case "most":
      return limit.bytes;
  }
}

function changes(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): readonly ChangedPart[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({ name, beforeBytes: own(before, name), afterBytes: own(after, name) }))
    .filter(({ beforeBytes, afterBytes }) => beforeBytes !== afterBytes)
    .sort((a, b) => growth(b) - growth(a));
}

/** Those that explain the ones around them: a module is left out where what is in it changed as much. */
function innermost(changed: readonly ChangedPart[]): readonly ChangedPart[] {
  return changed.filter(
    (part) => !changed.some((inner) => inner.name.startsWith(`${part.name}.`) && growth(inner) === growth(part)),
  );
}

const growth = ({ beforeBytes, afterBytes }: ChangedPart): number => afterBytes - beforeBytes;

/** A module may be called as what every object has: "constructor". */
function own(bytes: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(bytes, name) ? (bytes[name] as number) : 0;
}
