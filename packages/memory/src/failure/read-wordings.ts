import { type AllocatorLog, allocatorLog, type DeviceProcess } from "./allocator-log.js";
import { readXlaProgram } from "./read-xla-program.js";
import { roundingOf } from "./size-in-text.js";
import { type FieldValue, matchesOf, type TextTemplate, templateOf } from "./text-template.js";
import type { Wording } from "./wordings/wording.js";
import { reportWordings, symptomWordings } from "./wordings/wordings.js";

/** A text that begins with a wording. */
interface Hit {
  readonly wording: Wording;
  /** The place of the wording in the table. */
  readonly rank: number;
  readonly at: number;
  readonly end: number;
}

/** A log of thousands of failures repeats them. The last ones count. */
const mostHits = 1000;
/** The texts that a wording requires follow within this many characters. */
const reach = 600;
/** A report is not longer, apart from lists that are not read. */
const mostOfReport = 1 << 16;
/** The prefix of a line, in which launchers name the process. */
const mostOfPrefix = 200;

/**
 * Reads every out-of-memory error of a log that is worded as one of the table. Each is read up to the next one. Errors
 * that say little count only if there is no other. Takes time linear in the length of the text.
 *
 * @throws RematError `ALLOCATOR_LOG` for sizes that no allocator can have
 * @internal
 */
export function readReports(text: string): readonly AllocatorLog[] {
  return readWith(reportWordings, text);
}

/** Reads the errors that say little, as {@link readReports} reads the others. @internal */
export function readSymptoms(text: string): readonly AllocatorLog[] {
  return readWith(symptomWordings, text);
}

function readWith(wordings: readonly Wording[], text: string): readonly AllocatorLog[] {
  const hits = wordings
    .flatMap((wording, rank) => hitsOf(wording, rank, text))
    .sort((a, b) => a.at - b.at || a.rank - b.rank);
  const kept: Hit[] = [];
  for (const hit of hits) if (hit.at >= (kept.at(-1)?.end ?? 0)) kept.push(hit);
  return kept.slice(-mostHits).map((hit, i, all) => logAt(hit, text, all[i + 1]?.at ?? text.length));
}

function hitsOf(wording: Wording, rank: number, text: string): readonly Hit[] {
  const { starts, followedBy = [undefined] } = wording;
  return starts.flatMap((start) =>
    followedBy.flatMap((next) => placesOf(wording, text, start, next).map((place) => ({ wording, rank, ...place }))),
  );
}

type Place = Pick<Hit, "at" | "end">;

/** Finds the last places of `start` that `next` follows soon, and where the pair ends. Goes through the text once. */
function placesOf(wording: Wording, text: string, start: string, next: string | undefined): readonly Place[] {
  const places: Place[] = [];
  let nextAt = -1;
  for (let at = text.indexOf(start); at >= 0; ) {
    const end = at + start.length;
    let from = end;
    if (next !== undefined && nextAt < end) {
      nextAt = text.indexOf(next, end);
      if (nextAt < 0) break;
    }
    if (next !== undefined && nextAt > end + reach) from = Math.max(end, nextAt - reach - start.length);
    else if (isAtPosition(wording, text, at, end)) {
      places.push({ at, end: next === undefined ? end : nextAt + next.length });
      if (places.length === 2 * mostHits) places.splice(0, mostHits);
    }
    at = text.indexOf(start, from);
  }
  return places.slice(-mostHits);
}

const isLineEnd = (character: string | undefined): boolean =>
  character === undefined || character === "\n" || character === "\r";

function isAtPosition({ position }: Wording, text: string, at: number, end: number): boolean {
  if (position === undefined) return true;
  return isLineEnd(text[at - 1]) && (position === "line-start" || isLineEnd(text[end]));
}

const templates = new Map<string, TextTemplate>();

function compiled(template: string): TextTemplate {
  let found = templates.get(template);
  if (found === undefined) templates.set(template, (found = templateOf(template)));
  return found;
}

function logAt({ wording, at }: Hit, text: string, end: number): AllocatorLog {
  const report = text.slice(at, Math.min(end, at + mostOfReport)).replaceAll(/\s+/g, " ");
  const values = new Map<string, FieldValue>();
  for (const each of wording.fields ?? []) {
    const template = compiled(each);
    if (template.holes.every(({ field }) => values.has(field))) continue;
    const [found] = matchesOf(template, report);
    for (const [field, value] of found ?? []) if (!values.has(field)) values.set(field, value);
  }
  const { kind, memory, op, verdict, killedForMemory, absurdIf = [], lastFields } = wording;
  const statedVerdict = absurdIf.some((each) => report.includes(each)) ? "absurd" : verdict;
  const bytes = (field: string): number | undefined => {
    const value = values.get(field);
    return typeof value === "number" ? value : undefined;
  };
  const pid = bytes("pid");
  return allocatorLog({
    kind,
    name: nameOf(wording, bytes("device")) + (pid === undefined ? "" : ` (pid ${pid})`),
    memory,
    reporter: reporterAt(text, at),
    askedBytes: bytes("asked"),
    op: op ?? textOf(values.get("op")),
    shape: shapeOf(values.get("shape")),
    dtype: textOf(values.get("dtype")),
    limitBytes: bytes("limit"),
    // PyTorch prints 2^64 bytes and more if no limit is set.
    allowedBytes: (bytes("allowed") ?? Infinity) < 2 ** 60 ? bytes("allowed") : undefined,
    inUseBytes: bytes("inUse"),
    availableBytes: bytes("available"),
    largestFreeBytes: bytes("largestFree"),
    peakBytes: bytes("peak"),
    contextBytes: bytes("context"),
    ...pooledOf(bytes),
    ...(bytes("limit") !== undefined && bytes("available") !== undefined && sharesOf(bytes, report)),
    program: kind === "xla" || kind === "tpu" ? readXlaProgram(report) : undefined,
    killedForMemory,
    statedVerdict,
    truncated: statedVerdict === undefined && lastFields?.some((field) => values.has(field)) === false,
  });
}

function nameOf({ name }: Wording, device: number | undefined): string {
  return name.replace(" {device}", device === undefined ? "" : ` ${device}`);
}

const textOf = (value: FieldValue | undefined): string | undefined => (typeof value === "string" ? value : undefined);

function shapeOf(value: FieldValue | undefined): readonly number[] | undefined {
  const sizes = textOf(value)
    ?.split(",")
    .filter((each) => each.trim() !== "")
    .map(Number);
  return sizes?.every(Number.isSafeInteger) ? sizes : undefined;
}

type ReadsBytes = (field: string) => number | undefined;

/** PyTorch before 2.0 prints the reserved memory, which includes the memory in use. Both are rounded to two decimals. */
function pooledOf(bytes: ReadsBytes): Pick<AllocatorLog, "pooledBytes" | "pooledErrorBytes"> {
  const [pooled, reserved, inUse] = [bytes("pooled"), bytes("reserved"), bytes("inUse")];
  if (pooled !== undefined || reserved === undefined || inUse === undefined) return { pooledBytes: pooled };
  return {
    pooledBytes: Math.max(0, reserved - inUse),
    pooledErrorBytes: roundingOf(reserved) + roundingOf(inUse),
  };
}

/**
 * A process needs up to this much for the driver's context, the code of kernels, and the buffers of NCCL and cuBLAS. If
 * the text does not say how much this process uses, that much is not attributed to others.
 */
const mostOfContext = 2 ** 31;

/** Every process on a device has a context of about this size or more. A smaller remainder is not another process. */
const leastOfProcess = 2 ** 27;

/** Divides the memory that PyTorch does not account for among this process and others. */
function sharesOf(
  bytes: ReadsBytes,
  report: string,
): Pick<AllocatorLog, "ownBytes" | "contextBytes" | "othersBytes" | "processes"> {
  const named = [...matchesOf(compiled("Process {pid:id} has {process} memory in use"), report)].map(
    (found): DeviceProcess => ({ pid: found.get("pid") as number, bytes: found.get("process") as number }),
  );
  const [limit = 0, available = 0, inUse] = [bytes("limit"), bytes("available"), bytes("inUse")];
  const pooled = pooledOf(bytes).pooledBytes ?? 0;
  if (inUse === undefined) return { processes: named.length > 0 ? named : undefined, othersBytes: undefined };
  const tensors = inUse + pooled;
  const own = bytes("own") ?? ownAmong(named, tensors, limit);
  const left = Math.max(0, limit - available - (own ?? tensors));
  const rest = own === undefined ? Math.max(0, left - mostOfContext) : left;
  const othersBytes = rest < leastOfProcess ? 0 : rest;
  const others = named.filter((each) => each.bytes <= othersBytes + roundingOf(each.bytes) + roundingOf(limit));
  return {
    ownBytes: own,
    contextBytes: own === undefined ? undefined : Math.max(0, own - tensors),
    othersBytes,
    processes: others.length > 0 ? others : undefined,
  };
}

/**
 * In a container PyTorch does not recognize its own process, and names it like the others. Only one that uses at least
 * the memory of the tensors can be it, and only if the device has no place for both.
 */
function ownAmong(named: readonly DeviceProcess[], tensors: number, limit: number): number | undefined {
  const own = named.filter(({ bytes }) => bytes >= tensors - roundingOf(tensors) && bytes + tensors > limit);
  return own.length === 1 ? own[0]?.bytes : undefined;
}

const reporters: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\[(?:rank|default|Rank )(\d{1,6})\]/, "rank "],
  [/\(\w{1,60} pid=(\d{1,12})/, "pid "],
  [/^\s{0,4}(\d{1,6}): /, "task "],
];

/** Launchers write the process at the beginning of each line. */
function reporterAt(text: string, at: number): string | undefined {
  const before = text.slice(Math.max(0, at - mostOfPrefix), at);
  const prefix = before.slice(before.lastIndexOf("\n") + 1);
  for (const [pattern, name] of reporters) {
    const [, id] = pattern.exec(prefix) ?? [];
    if (id !== undefined) return name + id;
  }
  return undefined;
}
