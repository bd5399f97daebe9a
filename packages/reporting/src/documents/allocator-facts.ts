import type { AllocatorLog, AllocatorVerdict, StoragesOfSize, TensorsOfRequest } from "@remat/memory/failure";
import { formatPercent } from "../format-quantity.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Facts } from "../verdict/fact-lines.js";
import {
  adviceAgainstFragments,
  adviceOnAbsurdSize,
  adviceOnFullMemory,
  adviceOnHost,
  adviceOnLimit,
  adviceOnProcesses,
  adviceOnRefusal,
  adviceOnSharedMemory,
  adviceWithoutSizes,
} from "./allocator-advice.js";

/** The report of one device or process, and the reason for the failure. */
export interface AllocatorReport {
  readonly log: AllocatorLog;
  readonly verdict: AllocatorVerdict;
}

/** An allocator's log and its analysis. */
export interface AllocatorSummary extends AllocatorReport {
  /** The reports of other devices or processes in the same text. */
  readonly others?: readonly AllocatorReport[] | undefined;
  /** The storages that have the sizes of chunks, if a trace is available. */
  readonly storages?: readonly StoragesOfSize[] | undefined;
  /** The tensors that have the size of the failed request, if a trace is available. */
  readonly requested?: readonly TensorsOfRequest[] | undefined;
}

/** If more devices or processes failed, the text describes the first ones. */
const reportsTold = 8;

/** Explains why an allocator ran out of memory, and suggests a remedy. If there is a command to run, it is included. */
export function allocatorFacts(
  summary: AllocatorSummary,
  { units, command }: { readonly units?: SizeUnit; readonly command?: string | undefined } = {},
): Facts {
  const size = sizeFormat(units);
  const { others = [] } = summary;
  const reports = [...others, summary];
  const facts =
    others.length === 0
      ? reportFacts(summary, size, command === undefined)
      : reports.slice(0, reportsTold).map((report) => reportFacts(report, size, command === undefined).join(" "));
  const rest = reports.length - reportsTold;
  return {
    facts: [
      ...facts,
      ...describeRequested(summary),
      ...(rest > 0 ? [`${rest} more ${rest === 1 ? "process" : "processes"} failed. See --format json.`] : []),
      ...(command === undefined ? [] : ["To plan within the limit:", command]),
    ],
    command,
  };
}

function reportFacts({ log, verdict }: AllocatorReport, size: SizeFormat, advises: boolean): readonly string[] {
  return [
    describeAsked(log, verdict, size),
    describeHeld(log, size),
    describeProgram(log, size),
    ...describeFree(log, size),
    describeCause(log, verdict, size),
    verdict === "full" && advises ? adviceOnFullMemory(log) : undefined,
    log.truncated ? "The log is incomplete, so more memory may be in use." : undefined,
  ].filter((fact) => fact !== undefined);
}

function describeAsked(log: AllocatorLog, verdict: AllocatorVerdict, size: SizeFormat): string {
  const { reporter, askedBytes, op, line, shape, dtype, killedForMemory } = log;
  // The text may not number the device.
  const name = /^[GN]PU$/.test(log.name) ? `The ${log.name}` : log.name;
  const subject = reporter === undefined ? name : `${name} (${reporter})`;
  if (killedForMemory !== undefined)
    return killedForMemory
      ? `${subject} was killed because memory ran out.`
      : `${subject} was killed (SIGKILL), most likely because memory ran out.`;
  const tensor = shape === undefined ? "" : ` (${[dtype, `[${shape.join(", ")}]`].filter(Boolean).join(" ")})`;
  const user = `${op === undefined ? "" : ` for ${op}`}${line === undefined ? "" : ` at ${line}`}`;
  if (askedBytes === undefined && verdict === "absurd")
    return `${subject} could not allocate a tensor of an impossible size${tensor}.`;
  return askedBytes === undefined
    ? `${subject} could not allocate memory${user}${tensor}. The log does not say how much was requested.`
    : `${subject} could not allocate ${size(askedBytes)}${user}${tensor}.`;
}

/** Names the tensor of a trace that has the size of the failed request. */
function describeRequested({ requested = [] }: AllocatorSummary): readonly string[] {
  const [first, ...others] = requested;
  if (first === undefined) return [];
  const { dtype, shape, op, line, count } = first;
  const times = count === 1 ? "once" : `${count} times`;
  const at = line === undefined ? "" : ` at ${line}`;
  const more =
    others.length === 0
      ? ""
      : ` ${others.length} other ${others.length === 1 ? "op has" : "ops have"} tensors of this size.`;
  return [`In the trace, ${op}${at} allocates this size ${times}: ${dtype} [${shape.join(", ")}].${more}`];
}

function describeHeld(log: AllocatorLog, size: SizeFormat): string | undefined {
  const { memory, limitBytes, allowedBytes, peakBytes } = log;
  if (memory === "block") return undefined;
  const known: readonly (readonly [bytes: number | undefined, what: string])[] = [
    [log.inUseBytes, "in use"],
    [log.pooledBytes, "free in its pool"],
    [log.availableBytes, "free elsewhere"],
    [log.unusableBytes || undefined, "free for other streams or private pools only"],
    [log.contextBytes || undefined, "used by the process outside its tensors"],
    [log.othersBytes || undefined, log.ownBytes === undefined ? "or more used by others" : "used by others"],
  ];
  const parts = known
    .filter(([bytes]) => bytes !== undefined)
    .map(([bytes, what]) => `${size(bytes as number)} ${what}`);
  if (parts.length === 0) return undefined;
  const peak = peakBytes === undefined ? "" : `; peak use was ${size(peakBytes)}`;
  const limits = [
    ...(limitBytes === undefined ? [] : [`limit ${size(limitBytes)}`]),
    ...(allowedBytes === undefined ? [] : [`${size(allowedBytes)} allowed`]),
  ];
  return `Memory${limits.length === 0 ? "" : ` (${limits.join(", ")})`}: ${parts.join(", ")}${peak}.`;
}

function describeProgram({ program }: AllocatorLog, size: SizeFormat): string | undefined {
  if (program === undefined) return undefined;
  const { totalBytes, outputBytes, temporaryBytes, parameterBytes, fragmentationBytes } = program;
  const known: readonly (readonly [bytes: number | undefined, what: string])[] = [
    [outputBytes || undefined, "outputs"],
    [temporaryBytes || undefined, "temporaries"],
    [parameterBytes || undefined, "parameters"],
    [fragmentationBytes || undefined, "lost between buffers"],
  ];
  const parts = known
    .filter(([bytes]) => bytes !== undefined)
    .map(([bytes, what]) => `${size(bytes as number)} ${what}`);
  const total =
    totalBytes === undefined ? "The compiled program needs" : `The compiled program needs ${size(totalBytes)}:`;
  return parts.length === 0 ? undefined : `${total} ${parts.join(", ")}.`;
}

function describeFree({ pooledBytes, largestFreeBytes, sizes }: AllocatorLog, size: SizeFormat): readonly string[] {
  if (largestFreeBytes === undefined || pooledBytes === undefined || pooledBytes === 0) return [];
  const pieces = sizes.reduce((sum, { free }) => sum + free, 0);
  const piece = pieces === 1 ? "one piece" : `${pieces} pieces, the largest ${size(largestFreeBytes)}`;
  return [
    `The free memory of the pool is in ${piece}: ${formatPercent(1 - largestFreeBytes / pooledBytes)} fragmentation.`,
  ];
}

function describeCause(log: AllocatorLog, verdict: AllocatorVerdict, size: SizeFormat): string {
  switch (verdict) {
    case "fragmented":
      return `The cause is fragmentation: enough memory is free, but not in one piece. ${adviceAgainstFragments(log)}${describeRoom(log, size)}`;
    case "other-process":
      return withAdvice(describeOthers(log, size), adviceOnProcesses(log));
    case "full":
      return describeFull(log, size);
    case "limited":
      return withAdvice(describeLimit(log, size), adviceOnLimit(log));
    case "driver":
      return isOversubscribed(log)
        ? `${describeOversubscription(log, size)} The pool has enough, but its pieces are not usable. Use a smaller batch, or restart the process.`
        : `${size(log.availableBytes ?? 0)} is free on the device, but its driver refused the request. Fragmentation is not the cause. ${adviceOnRefusal(log)}`;
    case "host":
      return `The memory of the host ran out, not that of an accelerator. ${adviceOnHost(log)}`;
    case "shared-memory":
      return `${describeSharedMemory(log, size)} ${adviceOnSharedMemory(log)}`;
    case "absurd":
      return `${describeAbsurdSize(log, size)} ${adviceOnAbsurdSize(log)}`;
    case "unknown":
      return withAdvice("The log does not show whether memory was full or fragmented.", adviceWithoutSizes(log));
  }
}

/** If so small a share of the device is free, defragmentation helps little. */
const almostNone = 0.05;

/** Says how little defragmentation would gain, if the device is almost full. */
function describeRoom(log: AllocatorLog, size: SizeFormat): string {
  const { pooledBytes = 0, availableBytes = 0, limitBytes, othersBytes = 0 } = log;
  const free = pooledBytes + availableBytes;
  if (limitBytes === undefined || free >= almostNone * limitBytes) return "";
  return othersBytes > free
    ? ` This gains at most ${size(free)}. Other processes use ${size(othersBytes)} of the device.`
    : ` This gains at most ${size(free)}: use a smaller batch if it fails again.`;
}

const withAdvice = (cause: string, advice: string): string => (advice === "" ? cause : `${cause} ${advice}`);

function missingBytes({
  askedBytes = 0,
  pooledBytes = 0,
  availableBytes = 0,
  statedVerdict,
  limitBytes,
}: AllocatorLog) {
  // A compiled program is more than one request.
  const free = statedVerdict === "full" ? (limitBytes ?? 0) : pooledBytes + availableBytes;
  return askedBytes === 0 ? 0 : Math.max(0, askedBytes - free);
}

function describeFull(log: AllocatorLog, size: SizeFormat): string {
  const { kind, pooledBytes, limitBytes = 0, inUseBytes = 0 } = log;
  const room = kind === "bfc" && pooledBytes === undefined ? Math.max(0, limitBytes - inUseBytes) : 0;
  const missing = missingBytes(log) - room;
  const oversubscribed = isOversubscribed(log) ? ` ${describeOversubscription(log, size)}` : "";
  return missing > 0
    ? `Memory is full: ${size(missing)} more is needed. Fragmentation is not the cause.${oversubscribed}`
    : `Memory is full. The free pieces add up to little more than the request.${oversubscribed}`;
}

/** On Windows the driver moves GPU memory to the host, so that a process can use more than the GPU has. */
function isOversubscribed({ kind, inUseBytes = 0, pooledBytes = 0, limitBytes = Infinity }: AllocatorLog): boolean {
  return kind === "cuda" && inUseBytes + pooledBytes > limitBytes + limitBytes / 128;
}

function describeOversubscription({ inUseBytes = 0, pooledBytes = 0, limitBytes = 0 }: AllocatorLog, size: SizeFormat) {
  return `The process uses ${size(inUseBytes + pooledBytes - limitBytes)} more than the device has: the driver keeps it in shared system memory, which is slow.`;
}

function describeOthers(log: AllocatorLog, size: SizeFormat): string {
  const { askedBytes = 0, availableBytes = 0, limitBytes = 0, processes = [] } = log;
  const othersBytes = log.othersBytes ?? Math.max(0, limitBytes - availableBytes);
  const [largest] = processes.toSorted((a, b) => b.bytes - a.bytes);
  const named = largest === undefined ? "" : ` Process ${largest.pid} has ${size(largest.bytes)} of it.`;
  return availableBytes >= askedBytes
    ? `Other processes use ${size(othersBytes)} of the device. ${size(availableBytes)} was free right after the failure, so one of them freed memory.${named}`
    : `Other processes use ${size(othersBytes)} of the device, more than the missing ${size(missingBytes(log))}.${named}`;
}

function describeLimit({ name, kind, allowedBytes, availableBytes }: AllocatorLog, size: SizeFormat): string {
  if (allowedBytes === undefined) return `A setting of ${name} limits the memory that it may use.`;
  const free = availableBytes === undefined ? "" : ` The device has ${size(availableBytes)} free.`;
  const owner = kind === "mps" ? "PyTorch's limit for MPS" : "A setting of the program";
  return `${owner} allows ${size(allowedBytes)}, and it is reached.${free}`;
}

function describeSharedMemory({ memory, askedBytes, limitBytes }: AllocatorLog, size: SizeFormat): string {
  if (memory === "shared") return "Shared memory between processes (/dev/shm) is full.";
  return askedBytes === undefined || limitBytes === undefined
    ? "A kernel needs more on-chip memory than the device has."
    : `A kernel needs ${size(askedBytes)} of on-chip memory, and the device has ${size(limitBytes)}.`;
}

function describeAbsurdSize({ kind, limitBytes }: AllocatorLog, size: SizeFormat): string {
  if (limitBytes !== undefined)
    return `The request alone is larger than the ${size(limitBytes)} that the device has, so freeing memory cannot help.`;
  return kind === "mps"
    ? "The request alone is larger than Metal's largest buffer, so freeing memory cannot help."
    : "No memory is that large: a shape overflowed, is negative or has a wrong axis.";
}
