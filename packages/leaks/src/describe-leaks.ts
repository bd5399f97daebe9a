import { formatBytes, formatDuration, formatNumber } from "@remat/trace/text";
import { growing, type LeakMaker, type LeakReport, ofProgram } from "./leak-report.js";
import type { LineEstimate } from "./line-estimate.js";
import type { ProcessGrowth } from "./process-growth.js";

/** The subject of a report, and the memory limit. */
export interface LeakSubject {
  /** The device whose memory fills up, named for example `23.5 GiB of this machine`. */
  readonly device?: { readonly name: string; readonly memoryBytes: number } | undefined;
  /**
   * Exit code of the program, if it has ended. The report of a failed program does not forecast and does not advise a
   * longer run.
   */
  readonly exitCode?: number;
}

const fixes: Readonly<Record<LeakMaker["origin"], string>> = {
  model: "model.dispose() when the model is no longer needed, or make it once, outside the loop",
  optimizer:
    "optimizer.dispose() when it is no longer needed (model.optimizer, if compile() made it), or make it once, outside the loop",
  constant:
    "make the optimizer once, outside the loop; if you dispose of it, also call optimizer.c.dispose(): the dispose() of a momentum optimizer does not free that tensor",
  variable: "dispose of the variable, or make it once and assign() to it",
  kept: "dispose of the tensor kept by tf.keep() before keeping the next one",
  iterator: "read the iterator to its end, or dispose of the results of its next()",
  returned: "dispose of the tensors returned by the tidy when they are no longer needed",
  outside: "wrap the code that makes and uses the tensor in tf.tidy(() => …), or dispose of the tensor",
  values: "copy the values you need (Array.from, slice), and drop the array",
};

/** Advice for tensors that the program itself references: a `tidy` would dispose tensors that it still uses. */
const fixOfHeld =
  "limit the array, Map or closure that references the tensors and dispose of removed ones, or store values instead of tensors (dataSync(), data())";

const ways: Readonly<Record<LeakMaker["origin"], string>> = {
  model: "weights of a model",
  optimizer: "slots of an optimizer",
  constant: "a constant of an optimizer",
  variable: "a variable",
  kept: "kept by tf.keep",
  iterator: "of an iterator of tf.data",
  returned: "returned out of a tidy",
  outside: "made outside tf.tidy",
  values: "values read, held by the program",
};

const besides: Readonly<Record<ProcessGrowth["what"], string>> = {
  heap: "the JavaScript heap (objects kept by the program: logs, lists, closures)",
  arrays: "arrays outside the JavaScript heap that belong to no tensor (values read, buffers kept by the program)",
  pool: "freed textures or buffers that the backend keeps for reuse by size (use fewer input sizes)",
  allocator:
    "process memory outside heap, arrays and tensors (freed memory kept by an allocator, or memory of a library)",
};

const mayBeFilling =
  "tensors that are not lost may be in a buffer or cache that is still filling; growth then ends when it is full";

const howEstimated =
  '; "20 to 30 of 40" is the 95% confidence interval for the line and the exact number from all lines';

/** Returns whether counts are uncertain. */
const isInterval = ({ estimates }: LeakMaker): boolean =>
  estimates !== undefined && Object.values(estimates).some(({ low, high }) => low < high);

const lostOnCpu =
  "on the cpu backend, JavaScript collects the data of lost tensors, so only counts grow; on wasm, webgl, webgpu and native, memory grows";

/**
 * Describes a leak report in lines: whether tensors grow, how fast, and when memory is full. Then each allocation site
 * with its fix, and anything else in the process that grows.
 */
export function describeLeaks(report: LeakReport, subject: LeakSubject = {}): readonly string[] {
  const leaks = growing(report);
  const lines = [verdictOf(report, leaks, subject)];
  for (const maker of leaks) lines.push(...describeMaker(maker));
  if (leaks.some((leak) => leak.origin !== "values" && mayEnd(leak))) lines.push(mayBeFilling);
  if (leaks.some(({ estimates }) => estimates !== undefined))
    lines.push(
      `lines come from ${report.stacks.taken} of ${report.stacks.outlived} stacks, chosen at random; ` +
        `lost and held counts are from the last census${leaks.some(isInterval) ? howEstimated : ""}`,
    );
  if (report.collectsLost && leaks.some(({ lost }) => lost > 0)) lines.push(lostOnCpu);
  for (const { what, bytesPerPeriod, period } of report.process)
    lines.push(
      `other memory also grows, by ${formatBytes(Math.round(bytesPerPeriod))} ${every(period)}: ${besides[what]}`,
    );
  const steady = report.makers.filter(({ verdict }) => verdict !== "growing");
  if (steady.length > 0) {
    const count = steady.reduce((sum, maker) => sum + maker.count, 0);
    const bytes = steady.reduce((sum, maker) => sum + maker.bytes, 0);
    const what = isJudged(report) ? "steady" : "alive";
    lines.push(`${what}: ${tensors(count)}, ${formatBytes(bytes)}`);
    if (!isJudged(report))
      for (const maker of steady.slice(0, 5))
        lines.push(`  ${placeOf(maker)}: ${tensors(maker.count)}, ${formatBytes(maker.bytes)}`);
  }
  return lines;
}

const isJudged = ({ makers }: LeakReport): boolean =>
  makers.length === 0 || makers.some(({ verdict }) => verdict !== "too short");

function verdictOf(report: LeakReport, leaks: readonly LeakMaker[], { device, exitCode = 0 }: LeakSubject): string {
  const told = new Set(ofProgram(report.periods));
  const seen = report.periods
    .filter((each) => told.has(each) || leaks.some(({ period }) => period === each.kind))
    .map(({ kind, count }) => periods(kind, count))
    .join(", ");
  if (!isJudged(report)) {
    const before = `${seen === "" ? "no step was seen" : `${seen} seen`}`;
    return exitCode === 0
      ? `growth is unknown: ${before}; at least four more are needed after the first. Let it run longer, or call markPeriod() of @remat/leaks after each step`
      : `growth is unknown: ${before} before the program ended with exit code ${exitCode}; ` +
          "at least four more are needed after the first. If it ran out of memory, remat record shows where";
  }
  if (leaks.length === 0)
    return (
      `${report.process.length === 0 ? "nothing grows" : "no tensor grows in number"}: ` +
      `${tensors(report.count)} and ${formatBytes(report.bytes)} alive${seen === "" ? ", and no step was seen" : ` after ${seen}`}`
    );
  const held = leaks.filter(({ origin }) => origin !== "values");
  const period = leaks[0].period ?? "step";
  const same = leaks.filter((leak) => leak.period === period);
  const perPeriod = same.reduce((sum, leak) => sum + leak.bytesPerPeriod, 0);
  const count = held.filter((leak) => leak.period === period).reduce((sum, leak) => sum + leak.countPerPeriod, 0);
  const what = [
    ...(count > 0 ? [`${rate(count)} ${count === 1 ? "tensor" : "tensors"}`] : []),
    formatBytes(Math.round(perPeriod)),
  ];
  const filling = same.reduce((sum, leak) => sum + leak.bytesPerPeriod * shareThatStays(leak, report), 0);
  // A program that has ended does not fill memory any further.
  const fills = ofProgram(report.periods).some(({ kind }) => kind === period);
  const end = fills && exitCode === 0 ? endOfMemory(report, device) : undefined;
  const full = end && timeUntilFull(report, period, filling, end);
  const until = same.every(mayEnd) ? "if it does not end, " : "";
  return `memory grows by ${what.join(" and ")} ${every(period)}, seen in ${seen}${full === undefined ? "" : `; ${until}${full}`}`;
}

/** The share of an allocation site's tensors that stays in memory. */
function shareThatStays({ count, lost }: LeakMaker, { collectsLost }: LeakReport): number {
  return collectsLost ? 1 - lost / Math.max(1, count) : 1;
}

/**
 * Returns whether this may be a buffer or cache that stops growing, which only a longer run can show. Tensors of a
 * model, an optimizer or the engine are not.
 */
const mayEnd = ({ origin, held, lost }: LeakMaker): boolean =>
  (lost === 0 || held > lost) &&
  (origin === "returned" || origin === "outside" || origin === "kept" || origin === "values");

/** The limit that is reached first: the device's or the backend's own. */
function endOfMemory({ mostBytes }: LeakReport, device: LeakSubject["device"]): LeakSubject["device"] {
  return mostBytes === undefined || (device !== undefined && device.memoryBytes <= mostBytes)
    ? device
    : { name: "the limit of WebAssembly", memoryBytes: mostBytes };
}

const yearMs = 365 * 24 * 3_600_000;

function timeUntilFull(
  { periods: all, elapsedMs, bytes }: LeakReport,
  kind: string,
  perPeriod: number,
  { name, memoryBytes }: NonNullable<LeakSubject["device"]>,
): string | undefined {
  const count = all.find((period) => period.kind === kind)?.count ?? 0;
  if (count === 0 || perPeriod <= 0) return undefined;
  const left = (memoryBytes - bytes) / perPeriod;
  const ms = (left * elapsedMs) / count;
  // No program runs for that long.
  if (ms >= yearMs) return undefined;
  return (
    `${formatBytes(memoryBytes)} (${name}) will be full after ${formatNumber(Math.round(left))} more ` +
    `${plural(kind)}, in ${formatDuration(ms)} at this speed`
  );
}

function describeMaker(maker: LeakMaker): readonly string[] {
  const { bytes, origin, names, shapes, countPerPeriod, bytesPerPeriod, period } = maker;
  const about = isInterval(maker) ? "about " : "";
  const called = names.length === 0 ? "" : ` (${names.slice(0, 2).join(", ")}${names.length > 2 ? ", …" : ""})`;
  const growth =
    countPerPeriod > 0
      ? `${about}${rate(countPerPeriod)} ${every(period ?? "step")}`
      : `${formatBytes(Math.round(bytesPerPeriod))} ${every(period ?? "step")}`;
  return [
    `${placeOf(maker)}: ${growth}, ${fateOf(maker)}, ${about}${formatBytes(Math.round(bytes))}`,
    `  ${origin === "values" ? "" : `tf.${maker.op} `}${shapes.join(", ")}${called}${within(maker)}, ${describeWay(maker)}`,
    `  fix: ${fixOf(maker)}`,
  ];
}

/**
 * Describes how many tensors are alive, lost and still referenced. Estimates include all tensors that are alive now,
 * because the last census may have seen few of them.
 */
function fateOf({ count, lost, held, estimates }: LeakMaker): string {
  const counted = (estimate: LineEstimate | undefined, n: number): string =>
    estimate === undefined ? `${n}` : intervalOf(estimate);
  return [
    ...(lost + held === 0 || estimates !== undefined ? [`${counted(estimates?.alive, count)} alive`] : []),
    ...(lost > 0 ? [`${counted(estimates?.lost, lost)} definitely lost`] : []),
    ...(held > 0 ? [`${counted(estimates?.held, held)} still held`] : []),
  ].join(", ");
}

function intervalOf({ low, high, of }: LineEstimate): string {
  if (low === of) return `${of}`;
  return `${low === high ? low : `${low} to ${high}`} of ${of}`;
}

/** A fix at a line is printed only if the line is known. */
function fixOf(maker: LeakMaker): string {
  if (maker.lines !== undefined) return fixOfUnclear(maker.lines, maker.op);
  if (maker.line === undefined && atLine.has(maker.origin)) return fixWithoutLine(maker);
  if (isHeldByProgram(maker)) return fixOfHeld;
  return maker.origin === "returned" && maker.returnedBy !== undefined && maker.returnedBy !== "tidy"
    ? `dispose of the tensors returned by ${maker.returnedBy}() when they are no longer needed`
    : fixes[maker.origin];
}

/** Origins whose fix belongs at the line that makes the tensors. */
const atLine: ReadonlySet<LeakMaker["origin"]> = new Set(["outside", "returned", "kept", "iterator"]);

const fixWithoutLine = ({ within }: LeakMaker): string =>
  within === undefined
    ? "the line is unknown; call markPeriod() of @remat/leaks in your program to see between which marks they are allocated"
    : `search the issues of the library: ${within} made these tensors, and no line of your program was on the stack`;

const fixOfUnclear = (lines: NonNullable<LeakMaker["lines"]>, op: string): string =>
  lines.length === 0
    ? `look for undisposed results of tf.${op} with this shape: no stack of these tensors was captured`
    : `make sure that ${lines.length === 1 ? "this line disposes" : "each of these lines disposes"} of the tensors it makes`;

/** If no known owner references the tensors, the program does. */
const isHeldByProgram = ({ origin, held, lost }: LeakMaker): boolean =>
  held > lost && (origin === "returned" || origin === "outside");

function describeWay(maker: LeakMaker): string {
  const { origin, returnedBy = "tidy" } = maker;
  const way = origin === "returned" && returnedBy !== "tidy" ? `returned by ${returnedBy}()` : ways[origin];
  return `${way}${isHeldByProgram(maker) ? "; the program still holds it, in an array, a Map or a closure" : ""}`;
}

/** The names of a model's weights already contain the modules. */
const within = ({ modules, names }: LeakMaker): string =>
  modules.length === 0 || names.length > 0
    ? ""
    : ` in ${modules.slice(0, 2).join(", ")}${modules.length > 2 ? ", …" : ""}`;

/** Number of lines to name if one of several is meant. */
const mostLines = 4;

function placeOf({ line, lines, within, op }: LeakMaker): string {
  if (line !== undefined) return line;
  if (lines !== undefined) return describePossible(lines, op);
  return within === undefined
    ? `tf.${op}, with no line of the program on the stack`
    : `${within}, with no line of the program on the stack`;
}

/** None of these lines is named as the cause, because another one may have made the leaking tensors. */
function describePossible(lines: NonNullable<LeakMaker["lines"]>, op: string): string {
  if (lines.length === 0) return `tf.${op}, at a line that is not known`;
  const named = lines.slice(0, mostLines).map(({ line, share }) => {
    return share === undefined ? line : `${percentOf(share)} of the lost tensors from ${line}`;
  });
  const listed = [...named, ...(lines.length > mostLines ? [`${lines.length - mostLines} more`] : [])].join(", ");
  if (lines.some(({ share }) => share !== undefined)) return `tf.${op}, at a line that is not certain (${listed})`;
  return lines.length === 1
    ? `tf.${op}, possibly at ${listed}`
    : `tf.${op}, possibly at one or more of these lines: ${listed}`;
}

const percentOf = (share: number): string => {
  const percent = Math.round(100 * share);
  return percent === 0 ? "less than 1%" : `${percent}%`;
};

const tensors = (count: number): string => `${count} ${count === 1 ? "tensor" : "tensors"}`;
const rate = (n: number): string => (Number.isInteger(n) || n >= 100 ? n.toFixed(0) : n.toPrecision(2));
const names: Readonly<Record<string, readonly [one: string, many: string]>> = {
  predict: ["call of predict", "calls of predict"],
  // A mark without a name.
  period: ["step", "steps"],
  repeat: ["iteration", "iterations"],
};
const plural = (kind: string): string => names[kind]?.[1] ?? `${kind}s`;
const every = (kind: string): string => `per ${names[kind]?.[0] ?? kind}`;
const periods = (kind: string, count: number): string =>
  `${count} ${count === 1 ? (names[kind]?.[0] ?? kind) : plural(kind)}`;
