import { currentBackend, currentDevice } from "@remat/dispatch-hook";
import { hasWarned, warnOnce } from "./warning.js";

/**
 * Resident memory that allocators may keep on top of the tensors, as a share of the budget. With the caching allocator
 * it is a sixth.
 */
const residentShare = 0.5;
/** Allowance in bytes whatever the budget is: code that loads late, threads, and memory that allocators keep. */
const residentSlackBytes = 64e6;

/** Main memory of the process without JavaScript's heap, in bytes. @internal */
export interface ResidentMemory {
  readonly bytes: number;
  /** Its peak so far. */
  readonly highestBytes: number;
}

/** Reads the memory of the process. Returns undefined if it is unknown. @internal */
export type ReadResident = () => ResidentMemory | undefined;

/** Node reports the memory of the process. Browsers do not. */
const residentOfProcess: ReadResident = () => {
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  if (process?.memoryUsage === undefined || process.resourceUsage === undefined) return undefined;
  try {
    const { rss, heapTotal } = process.memoryUsage();
    return { bytes: rss - heapTotal, highestBytes: 1024 * process.resourceUsage().maxRSS - heapTotal };
  } catch {
    // On Linux this reads a file, which fails if no file descriptor is left.
    return undefined;
  }
};

const code = "RESIDENT_OVER_BUDGET";

/**
 * This many passes are checked at the beginning. After that, one of this many passes is checked, because the system
 * call takes half a millisecond.
 */
const closelyWatched = 16;

/**
 * Warns once per process if resident memory exceeds a budget by more than half of it plus 64 MB. In that case the
 * tensors keep to the budget, but an allocator below them does not return freed memory. Memory other than tensors that
 * existed when the watch began does not count. Tensors on a GPU are not resident.
 *
 * @internal
 */
export class ResidentWatch {
  private readonly read: ReadResident;
  /** Resident memory when the watch began, and its non-tensor part. */
  private before: (ResidentMemory & { readonly besidesBytes: number }) | undefined;
  private hasBegun = false;
  private passes = 0;

  constructor(read: ReadResident = residentOfProcess) {
    this.read = read;
  }

  /** Begins the watch unless it has begun (see `begin`). */
  beginOnce(liveBytes: number): void {
    if (!this.hasBegun) this.begin(liveBytes);
  }

  /** Begins the watch. `liveBytes` is the tensor part of resident memory, which the budget counts. */
  begin(liveBytes: number): void {
    this.hasBegun = true;
    const resident = hasWarned(code) || currentDevice().device !== "cpu" ? undefined : this.read();
    this.before = resident && { ...resident, besidesBytes: resident.bytes - liveBytes };
  }

  /** Call after each pass. */
  look(budgetBytes: number): void {
    const { before } = this;
    if (this.passes++ > closelyWatched && this.passes % closelyWatched !== 0) return;
    const now = hasWarned(code) || before === undefined ? undefined : this.read();
    if (before === undefined || now === undefined) return;
    // Memory may have been higher during the pass than it is now.
    const most = now.highestBytes > before.highestBytes ? Math.max(now.highestBytes, now.bytes) : now.bytes;
    const bytes = most - before.besidesBytes;
    if (bytes <= (1 + residentShare) * budgetBytes + residentSlackBytes) return;
    const advice = currentBackend().keepsFreedMemory ?? "Lower the budget to make the process smaller.";
    warnOnce(
      code,
      `the process uses ${inMB(bytes)} for tensors within a budget of ${inMB(budgetBytes)}, because freed memory is not returned to the system. ${advice}`,
    );
  }
}

const inMB = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
