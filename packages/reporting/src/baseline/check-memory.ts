import type { BaselineStep, MemoryBaseline } from "./memory-baseline.js";

/**
 * How much a peak may grow: by a share of the baseline's peak, by a number of bytes, or up to an absolute limit in
 * bytes.
 */
export type PeakLimit =
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "more"; readonly bytes: number }
  | { readonly kind: "most"; readonly bytes: number };

/** A part of a step that uses more or less memory than in the baseline. */
export interface ChangedPart {
  readonly name: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** A step compared with its baseline. */
export interface CheckedStep {
  readonly name: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** The highest peak that passes, in bytes. */
  readonly limitBytes: number;
  /** True if `afterBytes` is at most `limitBytes`. */
  readonly passes: boolean;
  /** The largest changes first. */
  readonly categories: readonly ChangedPart[];
  /** Innermost modules that changed, the largest changes first. */
  readonly modules: readonly ChangedPart[];
}

/** Result of a check of steps against a baseline. */
export interface MemoryCheck {
  readonly steps: readonly CheckedStep[];
  /** Requested steps that are not in the baseline. */
  readonly unknown: readonly string[];
  /** Steps with settings that differ from the baseline, such as another batch size. */
  readonly other: readonly { readonly name: string; readonly before: string; readonly after: string }[];
  /** True if all steps pass and no step is unknown or has other settings. */
  readonly passes: boolean;
}

/**
 * Compares steps with a baseline. Returns the steps that exceed their limit, with the categories and modules that
 * changed. A step also fails if the baseline does not have it, or has it with other settings.
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

/** Drops a module if a module inside it changed by the same amount, since that explains the change. */
function innermost(changed: readonly ChangedPart[]): readonly ChangedPart[] {
  return changed.filter(
    (part) => !changed.some((inner) => inner.name.startsWith(`${part.name}.`) && growth(inner) === growth(part)),
  );
}

const growth = ({ beforeBytes, afterBytes }: ChangedPart): number => afterBytes - beforeBytes;

/** Returns an own property. A module may have the name of a property that every object has, such as "constructor". */
function own(bytes: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(bytes, name) ? (bytes[name] as number) : 0;
}
