import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import type { UnitCache } from "./unit-cache.js";
import { UnitThread } from "./unit-thread.js";

export interface FitProgress {
  readonly done: number;
  readonly units: number;
  /** What a thread is at. */
  readonly unit: FitUnit;
  readonly batch: number | undefined;
}

export interface FitInWorkersOptions {
  /** What the threads run, which calls `serveUnits`; where there is no such file, units are answered here. */
  readonly file: URL;
  /** Given to the threads as their `workerData`. */
  readonly workerData: unknown;
  /** Answers a unit here. */
  fitHere(unit: FitUnit, onTried: (batch: number) => void): Promise<FitAnswer>;
  /** How many threads; as many as there are cores, up to 8, if left out. */
  readonly workers?: number;
  readonly cache?: UnitCache | undefined;
  /** Ends the search early; what was found so far is the answer. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: FitProgress) => void;
  /** Told of each answer, and of which unit it is; of those from the cache, too. */
  readonly onAnswer?: ((answer: FitAnswer, index: number) => void) | undefined;
}

const mostWorkers = 8;

/**
 * Answers units in worker threads, those that are known from a cache; in the order of the units, so that the answer is the same for any number of threads. Undefined of those that nobody had
 * looked at when `signal` ended the search.
 *
 * @throws RematError what a unit throws; `FIT_WORKER` where threads die of one
 * @example
 * const answers = await fitInWorkers(units, { file: new URL("./fit-worker.js", import.meta.url), workerData, fitHere });
 */
export async function fitInWorkers(
  units: readonly FitUnit[],
  options: FitInWorkersOptions,
): Promise<readonly (FitAnswer | undefined)[]> {
  const {
    file,
    cache,
    signal,
    onProgress,
    onAnswer,
    workers = Math.min(mostWorkers, availableParallelism()),
  } = options;
  const answers = answersIn(cache, units, onAnswer);
  const open = new OpenUnits(units, (i) => answers[i] === undefined);
  let done = answers.filter((answer) => answer !== undefined).length;
  const settle = (i: number, answer: FitAnswer): void => {
    answers[i] = answer;
    done++;
    cache?.put(units[i], answer);
    onAnswer?.(answer, i);
  };
  const tell = (i: number, batch?: number): void => onProgress?.({ done, units: units.length, unit: units[i], batch });
  const isOver = (): boolean => signal?.aborted === true;
  if (!existsSync(file)) {
    for (let i = open.take(undefined); i !== undefined && !isOver(); i = open.take(i)) {
      tell(i);
      settle(i, await options.fitHere(units[i], (batch) => tell(i, batch)));
    }
    return answers;
  }
  const threads = Array.from({ length: Math.min(workers, open.count) }, () => new UnitThread(file, options.workerData));
  const stop = (): Promise<unknown> => Promise.all(threads.map((thread) => thread.stop()));
  const stopNow = (): void => void stop();
  signal?.addEventListener("abort", stopNow);
  const work = async (thread: UnitThread): Promise<void> => {
    for (let i = open.take(undefined); i !== undefined && !isOver(); i = open.take(i)) {
      const at = i;
      tell(at);
      const answer = await thread.answer(units[at], (batch) => tell(at, batch));
      if (answer === undefined) return;
      settle(at, answer);
    }
  };
  try {
    await Promise.all(threads.map(work));
    return answers;
  } finally {
    signal?.removeEventListener("abort", stopNow);
    await stop();
  }
}

/** Returns what a cache knows of units. @internal */
export function answersIn(
  cache: UnitCache | undefined,
  units: readonly FitUnit[],
  onAnswer?: FitInWorkersOptions["onAnswer"],
): (FitAnswer | undefined)[] {
  return units.map((unit, i) => {
    const known = cache?.get(unit);
    if (known !== undefined) onAnswer?.(known, i);
    return known;
  });
}

/** Units that nobody looks at yet. A thread keeps to one optimizer where it can, since it has the steps of it. */
class OpenUnits {
  private readonly units: readonly FitUnit[];
  private readonly open: Set<number>;
  readonly count: number;

  constructor(units: readonly FitUnit[], isOpen: (i: number) => boolean) {
    this.units = units;
    this.open = new Set(units.map((_, i) => i).filter(isOpen));
    this.count = this.open.size;
  }

  /** The next one of those that are most like the one before. */
  take(before: number | undefined): number | undefined {
    let best: number | undefined;
    let bestScore = -1;
    for (const i of this.open) {
      const score = before === undefined ? 0 : this.likeness(i, before);
      if (score <= bestScore) continue;
      best = i;
      bestScore = score;
    }
    if (best !== undefined) this.open.delete(best);
    return best;
  }

  private likeness(a: number, b: number): number {
    const [one, other] = [this.units[a].configuration, this.units[b].configuration];
    return (one.optimizer === other.optimizer ? 2 : 0) + (one.way === other.way ? 1 : 0);
  }
}
