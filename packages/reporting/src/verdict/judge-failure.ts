import type { FailureAccount, FailureRemedy, HeldByLine } from "@remat/memory/failure";
import type { CategoryName, DeviceSpec, FailureCause } from "@remat/trace";
import { labelCategory } from "../category-colours.js";
import { formatWholePercent } from "../format-quantity.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { verdictSeparator } from "./fact-lines.js";
import type { Verdict } from "./verdict.js";

/** Lines and categories beyond these numbers appear only in the table below. */
const linesTold = 3;
const categoriesTold = 3;

/** Which memory ran out. */
const causes: Readonly<Record<FailureCause, string>> = {
  kernel: "the backend's allocator had no more",
  array: "JavaScript had no array of that size",
  wasm: "WebAssembly's memory had no more",
  heap: "JavaScript's heap was at its limit, in which tensors' data do not lie",
  system: "the system ended the process",
};

/** Options for judging a run that ran out of memory. */
export interface FailureVerdictOptions {
  /** The device that the run used. */
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly units?: SizeUnit | undefined;
  /** Returns the command for a remedy, or undefined if there is none. */
  commandFor?(remedy: FailureRemedy): string | undefined;
}

/**
 * Returns the verdict on a run that ran out of memory: the allocation that failed and its site, what used the rest,
 * whether that had grown, and what would have helped.
 *
 * @example
 * judgeFailure(accountOfFailure(trace)!, { device }).facts[0]; // "out of memory in Conv2D at train.js:12:20, which takes 1.5 GiB: …"
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
    return `${labelCategory(category).toLowerCase()} ${formatWholePercent(share)}`;
  });
  const facts = [
    describeEnd(account, size),
    `${size(heldBytes)} held: ${told.join(", ")}`,
    ...account.lines.slice(0, linesTold).map((line) => describeLine(line, size)),
    describeGrowth(account, size),
    ...(remedy === undefined ? [describeLeast(account, size)] : [describeRemedy(remedy, account, size)]),
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
    facts,
    sentence: facts.join(verdictSeparator),
    failure: account,
  };
}

function describeEnd({ failure }: Pick<FailureAccount, "failure">, size: SizeFormat): string {
  const { cause, message, op, line, askedBytes } = failure;
  const at = line === undefined ? "" : ` at ${line}`;
  const where = op === undefined ? (line === undefined ? "" : ` after what ran${at}`) : ` in ${op}${at}`;
  const asked = askedBytes === undefined ? "" : `, which takes ${size(askedBytes)}`;
  return `out of memory${where}${asked}: ${causes[cause]}${message === undefined ? "" : ` (${message})`}`;
}

function describeLine({ line, op, category, count, bytes }: HeldByLine, size: SizeFormat): string {
  const what = `${labelCategory(category).toLowerCase()}${count === 1 ? "" : `, ${count} storages`}`;
  if (op === undefined) return `${size(bytes)} there before, or made in JavaScript (${what})`;
  return `${size(bytes)} by ${op}${line === undefined ? "" : ` at ${line}`} (${what})`;
}

function describeGrowth(
  { failure: { stepsBefore = 0, bytesPerStep }, isLeak }: FailureAccount,
  size: SizeFormat,
): string {
  const steps = `${stepsBefore} ${stepsBefore === 1 ? "step" : "steps"}`;
  if (isLeak) return `a leak: what is held between steps grew by ${size(bytesPerStep!)} with each of ${steps}`;
  if (stepsBefore === 0) return "the first step's own peak: none was over before";
  if (bytesPerStep === undefined) return `${steps} before it, too few to tell whether what is held between them grows`;
  const grew = bytesPerStep === 0 ? "has not grown" : `grew by no more than ${size(bytesPerStep)} with each`;
  return `the step's own peak: what is held between steps ${grew} in ${steps}`;
}

function describeRemedy(remedy: FailureRemedy, { leastBytes }: FailureAccount, size: SizeFormat): string {
  switch (remedy.kind) {
    case "leaks":
      return "the lines that make what is left from step to step are told by";
    case "budget":
      return `up to here there was room for ${size(remedy.budgetBytes)}, and recomputing these ops could hold as little as ${size(leastBytes)}`;
    case "smaller-batch":
      return `by proportion there was room for ${formatWholePercent(remedy.share)} of the batch`;
  }
}

function describeLeast({ leastBytes, roomBytes }: FailureAccount, size: SizeFormat): string {
  return `no order of these ops holds less than ${size(leastBytes)}, and up to here there was room for ${size(roomBytes)}`;
}
