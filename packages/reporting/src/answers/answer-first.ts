import type { IdleMemory } from "@remat/memory";
import { type OpIndex, type Trace, truncationNote } from "@remat/trace";
import { labelCategory } from "../category-colours.js";
import { formatOverhead, formatWholePercent } from "../format-quantity.js";
import type { HeldTree } from "../held-tree/held-tree.js";
import { type HeldRow, heldRow } from "../held-tree/held-tree-rows.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeLeast } from "../verdict/describe-verdict.js";
import { whereRecorded } from "../verdict/device-to-fit.js";
import { worthSaying } from "../verdict/free-way.js";
import type { Verdict } from "../verdict/verdict.js";
import { describeWay } from "../verdict/way-to-fit.js";
import type { RecommendedPlan } from "../view-summary.js";

/** One of the questions that are asked before any other, with its answer. */
export interface Answer {
  readonly about: "fit" | "holders" | "free" | "next" | "outcome";
  readonly question: string;
  /** In a few words; empty where nothing can be said in so few. */
  readonly answer: string;
  /** What it rests on, a sentence each. */
  readonly reasons: readonly string[];
  /** What the answer is to whoever asks; undefined where it is neither good nor bad. */
  readonly isGood?: boolean;
  /** What to type, in one piece. */
  readonly command?: string;
}

export interface AnswerFirstOptions {
  /** Undefined where nothing can be judged. */
  readonly verdict: Verdict | undefined;
  /** All of the peak; undefined where the trace does not tell when storages are freed. */
  readonly tree: HeldTree | undefined;
  readonly idle: IdleMemory | undefined;
  /** Plans that were looked for, by how much time they may cost. */
  readonly plans?: readonly RecommendedPlan[] | undefined;
  readonly units?: SizeUnit;
}

/** Groups and storages that are named of what holds a peak. */
const partsTold = 3;

/**
 * Returns the answers to what everybody asks first: does it fit, what holds the peak, what is free to gain, what to type.
 *
 * @example
 * answerFirst(trace, { verdict, tree, idle })[0]; // { question: "Does it fit?", answer: "Yes, with 48.06 GiB to spare", … }
 */
export function answerFirst(trace: Trace, options: AnswerFirstOptions): readonly Answer[] {
  if (options.verdict === undefined && options.tree === undefined)
    return [
      {
        ...asked("fit"),
        answer: "Nobody can say",
        reasons: ["The run does not tell when storages are freed."],
      },
    ];
  return [answerFit(trace, options), answerHolders(options), answerFree(trace, options), ...answerNext(options)];
}

type Asked = Exclude<Answer["about"], "outcome">;

const questions: Readonly<Record<Asked, string>> = {
  fit: "Does it fit?",
  holders: "What holds the peak?",
  free: "What is free to gain?",
  next: "What to type next",
};

export const asked = (about: Asked): Pick<Answer, "about" | "question"> => ({ about, question: questions[about] });

function answerFit(trace: Trace, { verdict, tree, units }: AnswerFirstOptions): Answer {
  const size = sizeFormat(units);
  const bytes = verdict?.peakBytes ?? tree?.held.totalBytes ?? 0;
  const op = tree === undefined || tree.held.op < 0 ? undefined : tree.held.op;
  const within = op === undefined ? "" : `, in op ${op} ${trace.opName(op)}${moduleOf(trace, op)}`;
  const peak = `The peak is ${size(bytes)}${within}.`;
  const { device, deviceMemoryBytes, fits, spareBytes = 0 } = verdict ?? {};
  const room = deviceMemoryBytes === undefined ? "" : describeRoom(device!, size(deviceMemoryBytes));
  const broken = truncationNote(trace);
  const reasons = [peak, ...(room === "" ? [] : [room]), ...(broken === undefined ? [] : [`${upperFirst(broken)}.`])];
  // It was found out the hard way: the verdict is on that, and says by how much.
  if (trace.header.failure !== undefined && verdict !== undefined)
    return {
      ...asked("fit"),
      answer: "No, it ran out of memory",
      reasons: verdict.facts.slice(0, 1).map((fact) => `${upperFirst(fact)}.`),
      isGood: false,
    };
  if (fits === undefined)
    return {
      ...asked("fit"),
      answer:
        deviceMemoryBytes === undefined
          ? `${size(bytes)} at the peak`
          : `${size(bytes)} before the end of an incomplete trace`,
      reasons:
        room === "" && verdict !== undefined ? [...reasons, `How much memory ${device} has is not known.`] : reasons,
    };
  return fits
    ? { ...asked("fit"), answer: `Yes, with ${size(spareBytes)} to spare`, reasons, isGood: true }
    : { ...asked("fit"), answer: `No, ${size(-spareBytes)} too much`, reasons, isGood: false };
}

/** How much memory there is, as a sentence. */
export const describeRoom = (device: string, room: string): string =>
  device === whereRecorded ? `There are ${room} ${whereRecorded}.` : `${device} has ${room}.`;

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
  const told = categories.filter(({ bytes }, i) => i === 0 || bytes >= 0.1 * total).slice(0, 3);
  const names = told.map(({ category, bytes }) => `${labelCategory(category)} ${formatWholePercent(bytes / total)}`);
  return {
    ...asked("holders"),
    answer: names.map((name, i) => (i === 0 ? name : lowerFirst(name))).join(", ") || "Nothing",
    reasons: tree === undefined ? [] : largestParts(tree).map((row) => describePart(row, total, size)),
  };
}

/** The largest of what categories consist of, by bytes: groups, and storages by themselves. */
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
  const who = makers === "" ? "" : ` by ${makers}`;
  return `${formatWholePercent(bytes / total)} ${labelCategory(category).toLowerCase()}${who}: ${what}, ${label}.`;
}

function answerFree(trace: Trace, { verdict, tree, idle, plans = [], units }: AnswerFirstOptions): Answer {
  if (trace.truncated !== undefined)
    return {
      ...asked("free"),
      answer: "",
      reasons: ["The trace is incomplete, so what is used or freed after its end is not known."],
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
    ({ overhead, peakBytes: planned }) => `For ${formatOverhead(overhead)} more time ${size(planned)}.`,
  );
  reasons.push(...new Set(told));
  // Where nothing is held longer than it is used, no plan could free more without recomputation.
  const isTight =
    trace.header.framework !== "tfjs" && idle !== undefined && idle.bytes < worthSaying * Math.max(1, peakBytes);
  const isKnown =
    isTight || plans.length > 0 || (verdict?.earlyReleasePeakBytes ?? verdict?.unrecomputedPeakBytes) !== undefined;
  if (least === undefined && !isKnown) return { ...asked("free"), answer: "", reasons };
  if (least === undefined) return { ...asked("free"), answer: "Nothing that costs no time", reasons };
  const gained = `${formatWholePercent(1 - least.peakBytes / Math.max(1, peakBytes))} less`;
  const how = least.kind === "early-release" ? "by early release" : "by a plan that recomputes nothing";
  return {
    ...asked("free"),
    answer: `${gained}: ${size(least.peakBytes)} ${how}`,
    reasons,
    isGood: true,
  };
}

/** Why freeing earlier gives something, or does not. */
function describeIdle({ header: { framework } }: Trace, peakBytes: number, idle: IdleMemory | undefined): string {
  if (idle === undefined) return "This run does not show which memory is kept needlessly.";
  const share = idle.bytes / Math.max(1, peakBytes);
  if (share < worthSaying) return "Next to nothing of the peak is held longer than it is used.";
  const parts = Object.entries(idle.bytesByCategory)
    .sort(([, a], [, b]) => b - a)
    .filter(([, bytes]) => bytes >= worthSaying * peakBytes)
    .map(([category, bytes]) => `${labelCategory(category).toLowerCase()} ${formatWholePercent(bytes / peakBytes)}`);
  const why = framework === "tfjs" ? "; stock TensorFlow.js frees it only when the pass is over" : "";
  return `${formatWholePercent(share)} of the peak is used by no op any more: ${parts.join(", ")}${why}.`;
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
            `Nothing that was tried makes it fit${describeWeights(verdict, size)}.`,
            ...(least === undefined ? [] : [`${upperFirst(describeLeast(least, size))}.`]),
          ]
        : ways.map((way) => `Fits: ${describeWay(way, size)}.`);
  if (command === undefined && reasons.length === 0) return [];
  return [{ ...asked("next"), answer: "", reasons, ...(command !== undefined && { command }) }];
}

/** Why no plan can: none frees these. */
function describeWeights({ categories, deviceMemoryBytes = Infinity }: Verdict, size: SizeFormat): string {
  const bytes = categories.find(({ category }) => category === "parameter")?.bytes ?? 0;
  return bytes > deviceMemoryBytes ? `: parameters alone take ${size(bytes)}` : "";
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
