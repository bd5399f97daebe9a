import { currentBackend, currentDevice } from "@remat/dispatch-hook";
import { hasWarned, warnOnce } from "./warning.js";

/** A process may hold this much more of the budget than tensors do, which allocators keep: with the caching allocator it is a sixth. */
const residentShare = 0.5;
/** And this much whatever the budget is: code that is loaded late, threads, what allocators keep. */
const residentSlackBytes = 64e6;

/** What a process holds in main memory besides JavaScript's heap, in bytes. @internal */
export interface ResidentMemory {
  readonly bytes: number;
  /** The most that it has ever held. */
  readonly highestBytes: number;
}

/** Returns what the process holds; undefined where that cannot be told. @internal */
export type ReadResident = () => ResidentMemory | undefined;

/** What Node tells of the process; a browser tells nothing. */
const residentOfProcess: ReadResident = () => {
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  if (process?.memoryUsage === undefined || process.resourceUsage === undefined) return undefined;
  try {
    const { rss, heapTotal } = process.memoryUsage();
    return { bytes: rss - heapTotal, highestBytes: 1024 * process.resourceUsage().maxRSS - heapTotal };
  } catch {
    // Linux tells it in a file, for which there may be no descriptor left.
    return undefined;
  }
};

const code = "RESIDENT_OVER_BUDGET";

/** So many passes are looked at one by one, and from then on one of as many: to ask the system takes half a millisecond. */
const closelyWatched = 16;

/**
 * Warns once in a process when its resident memory leaves a budget of live bytes by more than half of it and 64 MB: tensors keep to the budget, and
 * something below them does not give back what they free. What was there besides tensors when the watch began does not count. Tensors on a GPU are not resident.
 *
 * @internal
 */
export class ResidentWatch {
  private readonly read: ReadResident;
  /** What is resident when the watch begins, and how much of it is no tensor. */
  private before: (ResidentMemory & { readonly besidesBytes: number }) | undefined;
  private hasBegun = false;
  private passes = 0;

  constructor(read: ReadResident = residentOfProcess) {
    this.read = read;
  }

  /** Begins where nobody has yet; see `begin`. */
  beginOnce(liveBytes: number): void {
    if (!this.hasBegun) this.begin(liveBytes);
  }

  /** `liveBytes` of what is resident are tensors, which the budget counts. */
  begin(liveBytes: number): void {
    this.hasBegun = true;
    const resident = hasWarned(code) || currentDevice().device !== "cpu" ? undefined : this.read();
    this.before = resident && { ...resident, besidesBytes: resident.bytes - liveBytes };
  }

  /** To be called after each pass. */
  look(budgetBytes: number): void {
    const { before } = this;
    if (this.passes++ > closelyWatched && this.passes % closelyWatched !== 0) return;
    const now = hasWarned(code) || before === undefined ? undefined : this.read();
    if (before === undefined || now === undefined) return;
    // Within a pass it may have been more than now.
    const most = now.highestBytes > before.highestBytes ? Math.max(now.highestBytes, now.bytes) : now.bytes;
    const bytes = most - before.besidesBytes;
    if (bytes <= (1 + residentShare) * budgetBytes + residentSlackBytes) return;
    const advice = currentBackend().keepsFreedMemory ?? "Give a smaller budget if the process has to be smaller.";
    warnOnce(
      code,
      `the process has held ${inMB(bytes)} for tensors that keep to a budget of ${inMB(budgetBytes)}: what they free is not given back to the system. ${advice}`,
    );
  }
}

const inMB = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
