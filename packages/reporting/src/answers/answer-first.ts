import type { IdleMemory } from "@remat/memory";
import { type OpIndex, type Trace, truncationNote } from "@remat/trace";
import { labelCategory } from "../category-colours.js";
import { formatOverhead, formatWholePercent } from "../format-quantity.js";
import type { HeldTree } from "../held-tree/held-tree.js";
import { type HeldRow, heldRow } from "../held-tree/held-tree-rows.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { upperFirst } from "../upper-first.js";
import { describeLeast } from "../verdict/describe-verdict.js";
import { whereRecorded } from "../verdict/device-to-fit.js";
import { worthSaying } from "../verdict/free-way.js";
import { labelDevice } from "../verdict/label-device.js";
import type { Verdict } from "../verdict/verdict.js";
import { describeWay } from "../verdict/way-to-fit.js";
import type { RecommendedPlan } from "../view-summary.js";

/** One of the questions that users ask first, with its answer. */
export interface Answer {
  readonly about: "fit" | "holders" | "free" | "next" | "outcome";
  readonly question: string;
  /** A short answer. Empty if a few words are not enough. */
  readonly answer: string;
  /** Reasons for the answer, one sentence each. */
  readonly reasons: readonly string[];
  /** True if the answer is good news, false if it is bad, and undefined if it is neither. */
  readonly isGood?: boolean;
  /** The complete command to run next. */
  readonly command?: string;
}

/** Options of {@link answerFirst}. */
export interface AnswerFirstOptions {
  /** The verdict on the run. Undefined if the run cannot be judged. */
  readonly verdict: Verdict | undefined;
  /** Memory in use at the peak as a tree, or undefined if the trace does not record when storages are freed. */
  readonly tree: HeldTree | undefined;
  /** Memory at the peak that is no longer needed, or undefined if the trace does not record when storages are freed. */
  readonly idle: IdleMemory | undefined;
  /** Plans that were found, by the extra time that each may take. */
  readonly plans?: readonly RecommendedPlan[] | undefined;
  /** Unit of all sizes. Default: a suitable unit for each size. */
  readonly units?: SizeUnit;
}

/** Number of groups and storages to name among those that use most at the peak. */
const partsTold = 3;

/**
 * Returns the answers to the questions that users ask first: does it fit, what uses the memory, what can be saved with
 * no slowdown, and what to run next.
 *
 * @example
 * answerFirst(trace, { verdict, tree, idle })[0]; // { question: "Does it fit?", answer: "Yes, with 48.06 GiB to spare", … }
 */
export function answerFirst(trace: Trace, options: AnswerFirstOptions): readonly Answer[] {
  if (options.verdict === undefined && options.tree === undefined)
    return [
      {
        ...asked("fit"),
        answer: "Unknown",
        reasons: ["The run does not record when storages are freed."],
      },
    ];
  return [answerFit(trace, options), answerHolders(options), answerFree(trace, options), ...answerNext(options)];
}

type Asked = Exclude<Answer["about"], "outcome">;

const questions: Readonly<Record<Asked, string>> = {
  fit: "Does it fit?",
  holders: "What uses the most memory?",
  free: "Can it use less with no slowdown?",
  next: "Next command",
};

export const asked = (about: Asked): Pick<Answer, "about" | "question"> => ({ about, question: questions[about] });

function answerFit(trace: Trace, { verdict, tree, units }: AnswerFirstOptions): Answer {
  const size = sizeFormat(units);
  const bytes = verdict?.peakBytes ?? tree?.held.totalBytes ?? 0;
  const op = tree === undefined || tree.held.op < 0 ? undefined : tree.held.op;
  const within = op === undefined ? "" : `, in op ${op} ${trace.opName(op)}${moduleOf(trace, op)}`;
  const peak = `Peak memory is ${size(bytes)}${within}.`;
  const { device, deviceMemoryBytes, isDefaultDevice, fits, spareBytes = 0 } = verdict ?? {};
  const room = deviceMemoryBytes === undefined ? "" : describeRoom(device!, size(deviceMemoryBytes), isDefaultDevice);
  const broken = truncationNote(trace);
  const reasons = [peak, ...(room === "" ? [] : [room]), ...(broken === undefined ? [] : [`${upperFirst(broken)}.`])];
  // The run already ran out of memory, so the verdict is about that and says by how much.
  if (trace.header.failure !== undefined && verdict !== undefined)
    return {
      ...asked("fit"),
      answer: "No, it ran out of memory",
      reasons: verdict.facts.slice(0, 1),
      isGood: false,
    };
  if (fits === undefined)
    return {
      ...asked("fit"),
      answer:
        deviceMemoryBytes === undefined
          ? `Peak memory ${size(bytes)}`
          : `Peak memory ${size(bytes)} up to the end of an incomplete trace`,
      reasons:
        room === "" && verdict !== undefined
          ? [...reasons, `The memory of ${labelDevice(device!)} is unknown.`]
          : reasons,
    };
  return fits
    ? { ...asked("fit"), answer: `Yes, with ${size(spareBytes)} to spare`, reasons, isGood: true }
    : { ...asked("fit"), answer: `No, ${size(-spareBytes)} too much`, reasons, isGood: false };
}

/** Describes how much memory a device has, as a sentence. */
export function describeRoom(device: string, room: string, isDefault = false): string {
  if (device === whereRecorded) return `The machine that recorded it has ${room}.`;
  const how = isDefault ? " (the default device; --device here for this machine)" : "";
  return `${labelDevice(device)} has ${room}${how}.`;
}

function moduleOf(trace: Trace, op: OpIndex): string {
  const module = trace.opModule(op)?.fqn;
  return module === undefined ? "" : ` of ${module}`;
}

function answerHolders({ verdict, tree, units }: AnswerFirstOptions): Answer {
  const size = sizeFormat(units);
  const total = Math.max(1, tree?.held.totalBytes ?? verdict?.peakBytes ?? 0);
  const categories =
    tree === undefined
      ? (verdict?.categories ?? [])
      : tree.roots.map((root) => ({ category: tree.groups[root].category, bytes: tree.groups[root].bytes }));
  const shown = categories.filter(({ bytes }, i) => i === 0 || bytes >= 0.1 * total).slice(0, 3);
  const names = shown.map(({ category, bytes }) => `${labelCategory(category)} (${formatWholePercent(bytes / total)})`);
  return {
    ...asked("holders"),
    answer: names.map((name, i) => (i === 0 ? name : lowerFirst(name))).join(", ") || "Nothing",
    reasons: tree === undefined ? [] : largestParts(tree).map((row) => describePart(row, total, size)),
  };
}

/** Returns the largest parts of the categories, by bytes. A part is a group or a single storage. */
function largestParts(tree: HeldTree): readonly HeldRow[] {
  return tree.roots
    .flatMap((root) => tree.groups[root].parts.map((part) => heldRow(tree, part, 1, root)))
    .sort((a, b) => b.bytes - a.bytes)
    .filter(({ share }, i) => i === 0 || share >= worthSaying)
    .slice(0, partsTold);
}

function describePart(
  { bytes, count, eachBytes, label, category, makers }: HeldRow,
  total: number,
  size: (bytes: number) => string,
): string {
  const each = eachBytes === undefined ? `${size(bytes)} in ${count} storages` : `${count} × ${size(eachBytes)}`;
  const what = count === 1 ? size(bytes) : each;
  const who = makers === "" ? "" : ` allocated by ${makers}`;
  return `${formatWholePercent(bytes / total)} ${labelCategory(category).toLowerCase()}${who}: ${what}, ${label}.`;
}

function answerFree(trace: Trace, { verdict, tree, idle, plans = [], units }: AnswerFirstOptions): Answer {
  if (trace.truncated !== undefined)
    return {
      ...asked("free"),
      answer: "",
      reasons: ["The trace is incomplete, so later uses and frees are unknown."],
    };
  const size = sizeFormat(units);
  const peakBytes = verdict?.peakBytes ?? tree?.held.totalBytes ?? 0;
  const least = verdict?.free;
  const reasons = [describeIdle(trace, peakBytes, idle)];
  const costly = plans.filter(
    ({ allowedOverhead, overhead, peakBytes: planned }) =>
      allowedOverhead > 0 && overhead > 0 && planned < (1 - worthSaying) * (least?.peakBytes ?? peakBytes),
  );
  // One plan may be the best for several limits.
  const told = costly.map(
    ({ overhead, peakBytes: planned }) => `${size(planned)} is possible with ${formatOverhead(overhead)} more time.`,
  );
  reasons.push(...new Set(told));
  // If nothing stays alive longer than it is used, no plan can free more without recomputation.
  const isTight =
    trace.header.framework !== "tfjs" && idle !== undefined && idle.bytes < worthSaying * Math.max(1, peakBytes);
  const isKnown =
    isTight || plans.length > 0 || (verdict?.earlyReleasePeakBytes ?? verdict?.unrecomputedPeakBytes) !== undefined;
  if (least === undefined && !isKnown) return { ...asked("free"), answer: "", reasons };
  if (least === undefined) return { ...asked("free"), answer: "No", reasons };
  const gained = `${formatWholePercent(1 - least.peakBytes / Math.max(1, peakBytes))} less`;
  const how = least.kind === "early-release" ? "with early release" : "with a plan that recomputes nothing";
  return {
    ...asked("free"),
    answer: `Yes, ${gained}: ${size(least.peakBytes)} ${how}`,
    reasons,
    isGood: true,
  };
}

/** Explains why freeing earlier saves memory, or why it does not. */
function describeIdle({ header: { framework } }: Trace, peakBytes: number, idle: IdleMemory | undefined): string {
  if (idle === undefined) return "This run does not show which tensors are kept alive too long.";
  const share = idle.bytes / Math.max(1, peakBytes);
  if (share < worthSaying) return "Almost no tensor is kept alive after its last use.";
  const parts = Object.entries(idle.bytesByCategory)
    .sort(([, a], [, b]) => b - a)
    .filter(([, bytes]) => bytes >= worthSaying * peakBytes)
    .map(([category, bytes]) => `${labelCategory(category).toLowerCase()} (${formatWholePercent(bytes / peakBytes)})`);
  const why = framework === "tfjs" ? " TensorFlow.js frees it only at the end of the pass." : "";
  return `${formatWholePercent(share)} of the peak is not used by any later op: ${parts.join(", ")}.${why}`;
}

function answerNext({ verdict, units }: AnswerFirstOptions): readonly Answer[] {
  if (verdict === undefined) return [];
  const { command, ways, least } = verdict;
  const size = sizeFormat(units);
  const reasons =
    ways === undefined
      ? []
      : ways.length === 0
        ? [
            `Nothing remat tried makes it fit${describeWeights(verdict, size)}.`,
            ...(least === undefined ? [] : [describeLeast(least, size)]),
          ]
        : ways.map((way) => `It fits ${describeWay(way, size)}.`);
  if (command === undefined && reasons.length === 0) return [];
  return [{ ...asked("next"), answer: "", reasons, ...(command !== undefined && { command }) }];
}

/** Explains why no plan is enough: plans do not free weights. */
function describeWeights({ categories, deviceMemoryBytes = Infinity }: Verdict, size: SizeFormat): string {
  const bytes = categories.find(({ category }) => category === "parameter")?.bytes ?? 0;
  return bytes > deviceMemoryBytes ? `: parameters alone take ${size(bytes)}` : "";
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
