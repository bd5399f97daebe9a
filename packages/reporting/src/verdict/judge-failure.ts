import type { FailureAccount, FailureRemedy, HeldByLine } from "@remat/memory/failure";
import type { CategoryName, DeviceSpec, FailureCause } from "@remat/trace";
import { labelCategory } from "../category-colours.js";
import { formatWholePercent } from "../format-quantity.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { paragraphOf } from "./fact-lines.js";
import type { Verdict } from "./verdict.js";

/** Maximum numbers of lines and categories in the verdict. Further ones appear only in the table below it. */
const linesTold = 3;
const categoriesTold = 3;

/** Names for the kinds of memory that can run out. */
const causes: Readonly<Record<FailureCause, string>> = {
  kernel: "the backend's allocator had no more memory",
  array: "JavaScript could not allocate an array of that size",
  wasm: "WebAssembly had no more memory",
  heap: "the JavaScript heap reached its limit (tensor data is outside this heap)",
  system: "the operating system killed the process",
};

/** Options for judging a run that ran out of memory. */
export interface FailureVerdictOptions {
  /** The device that the run used. */
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly units?: SizeUnit | undefined;
  /** Returns the command for a remedy, or undefined if none exists. */
  commandFor?(remedy: FailureRemedy): string | undefined;
}

/**
 * Returns the verdict on a run that ran out of memory: the failed allocation and its site, what used the rest of the
 * memory, whether that had grown, and what would have helped.
 *
 * @example
 * judgeFailure(accountOfFailure(trace)!, { device }).facts[0]; // "Out of memory in Conv2D at train.js:12:20, allocating 1.5 GiB: …"
 */
export function judgeFailure(
  account: FailureAccount,
  { device, units, commandFor }: FailureVerdictOptions,
): Verdict & { readonly failure: FailureAccount } {
  const { heldBytes, bytesByCategory, roomBytes, remedy } = account;
  const size = sizeFormat(units);
  const command = remedy && commandFor?.(remedy);
  const categories = Object.entries(bytesByCategory)
    .map(([category, bytes]) => ({
      category: category as CategoryName,
      bytes,
      share: bytes / Math.max(1, heldBytes),
    }))
    .sort((a, b) => b.bytes - a.bytes);
  const told = categories.slice(0, categoriesTold).map(({ category, share }) => {
    return `${labelCategory(category).toLowerCase()} (${formatWholePercent(share)})`;
  });
  const facts = [
    describeEnd(account, size),
    `${size(heldBytes)} ${told.length === 0 ? "was in use." : `was in use: ${told.join(", ")}.`}`,
    ...account.lines.slice(0, linesTold).map((line) => describeLine(line, size)),
    ...(remedy?.kind === "explain" ? [] : [describeGrowth(account, size)]),
    ...(remedy === undefined
      ? [`${describeLeast(account, size)}.`]
      : [`${describeRemedy(remedy, account, size)}${command === undefined ? "." : ":"}`]),
    ...(command === undefined ? [] : [command]),
  ];
  return {
    peakBytes: roomBytes,
    categories,
    device: device.name,
    deviceMemoryBytes: device.memoryBytes,
    fits: false,
    spareBytes: undefined,
    earlyReleasePeakBytes: undefined,
    unrecomputedPeakBytes: undefined,
    free: undefined,
    recomputedOps: 0,
    given: undefined,
    outcome: undefined,
    truncated: undefined,
    ways: undefined,
    least: undefined,
    largestBatch: undefined,
    command,
    headline: facts[0].slice(0, -1),
    facts,
    sentence: paragraphOf({ facts }),
    failure: account,
  };
}

function describeEnd({ failure }: Pick<FailureAccount, "failure">, size: SizeFormat): string {
  const { cause, message, op, line, askedBytes } = failure;
  const at = line === undefined ? "" : ` at ${line}`;
  const where = op === undefined ? (line === undefined ? "" : ` after the op${at}`) : ` in ${op}${at}`;
  const asked = askedBytes === undefined ? "" : `, allocating ${size(askedBytes)}`;
  return `Out of memory${where}${asked}: ${causes[cause]}${message === undefined ? "" : ` (${message})`}.`;
}

function describeLine({ line, op, category, count, bytes }: HeldByLine, size: SizeFormat): string {
  const what = `${labelCategory(category).toLowerCase()}${count === 1 ? "" : `, ${count} storages`}`;
  if (op === undefined) return `${size(bytes)} existed before, or was allocated in JavaScript (${what}).`;
  return `${size(bytes)} allocated by ${op}${line === undefined ? "" : ` at ${line}`} (${what}).`;
}

function describeGrowth(
  { failure: { stepsBefore = 0, bytesPerStep }, isLeak }: FailureAccount,
  size: SizeFormat,
): string {
  const steps = `${stepsBefore} ${stepsBefore === 1 ? "step" : "steps"}`;
  if (isLeak)
    return `This is a leak: memory in use between steps grew by ${size(bytesPerStep!)} per step over ${steps}.`;
  if (stepsBefore === 0) return "It happened in the first step, so it is that step's own peak.";
  if (bytesPerStep === undefined) return `Only ${steps} ran before it, too few to detect a leak.`;
  const grew = bytesPerStep === 0 ? "did not grow" : `grew by at most ${size(bytesPerStep)} per step`;
  return `This is the step's own peak: memory in use between steps ${grew} over ${steps}.`;
}

function describeRemedy(remedy: FailureRemedy, { leastBytes }: FailureAccount, size: SizeFormat): string {
  switch (remedy.kind) {
    case "leaks":
      return "To find the lines that leak";
    case "budget":
      return `${size(remedy.budgetBytes)} was available up to here, and with recomputation these ops need as little as ${size(leastBytes)}`;
    case "explain":
      return "To see which memory was free, and in which pieces";
    case "smaller-batch":
      return `By proportion, about ${formatWholePercent(remedy.share)} of the batch would have fit`;
  }
}

function describeLeast({ leastBytes, roomBytes }: FailureAccount, size: SizeFormat): string {
  return `No order of these ops needs less than ${size(leastBytes)}, but only ${size(roomBytes)} was available`;
}
