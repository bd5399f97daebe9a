import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { itemAt } from "@remat/trace";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import type { UnitCache } from "./unit-cache.js";
import { UnitThread } from "./unit-thread.js";

/** The progress of a search. */
export interface FitProgress {
  /** The number of units that have an answer. */
  readonly done: number;
  /** The number of all units. */
  readonly units: number;
  /** The unit that a thread is working on. */
  readonly unit: FitUnit;
  /** The batch that the thread is trying, or undefined if it is unknown. */
  readonly batch: number | undefined;
}

/** Options of {@link fitInWorkers}. */
export interface FitInWorkersOptions {
  /**
   * The program of the threads, which calls `serveUnits`. If the file does not exist, units are answered in this
   * thread.
   */
  readonly file: URL;
  /** The `workerData` of the threads. */
  readonly workerData: unknown;
  /** Answers a unit in this thread. */
  fitHere(unit: FitUnit, onTried: (batch: number) => void): Promise<FitAnswer>;
  /** The number of threads. Default: the number of cores, at most 8. */
  readonly workers?: number;
  readonly cache?: UnitCache | undefined;
  /** Ends the search early. The answers found so far are returned. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: FitProgress) => void;
  /** Called with each answer and the index of its unit, including answers from the cache. */
  readonly onAnswer?: ((answer: FitAnswer, index: number) => void) | undefined;
}

const mostWorkers = 8;

/**
 * Answers units in worker threads, or from a cache. The answers are in the order of the units, and do not depend on the
 * number of threads. Units without an answer when `signal` ends the search are undefined.
 *
 * @throws RematError the errors that a unit throws, and `FIT_WORKER` if a unit causes threads to die
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
    cache?.put(itemAt(units, i), answer);
    onAnswer?.(answer, i);
  };
  const tell = (i: number, batch?: number): void =>
    onProgress?.({ done, units: units.length, unit: itemAt(units, i), batch });
  const isOver = (): boolean => signal?.aborted === true;
  if (!existsSync(file)) {
    for (let i = open.take(undefined); i !== undefined && !isOver(); i = open.take(i)) {
      tell(i);
      settle(i, await options.fitHere(itemAt(units, i), (batch) => tell(i, batch)));
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
      const answer = await thread.answer(itemAt(units, at), (batch) => tell(at, batch));
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

/**
 * Returns the answers that a cache has for units.
 *
 * @internal
 */
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

/**
 * Stores the units that no thread has taken. A thread stays with one optimizer if possible, because it already has the
 * steps with that optimizer.
 */
class OpenUnits {
  private readonly units: readonly FitUnit[];
  private readonly open: Set<number>;
  readonly count: number;

  constructor(units: readonly FitUnit[], isOpen: (i: number) => boolean) {
    this.units = units;
    this.open = new Set(units.map((_, i) => i).filter(isOpen));
    this.count = this.open.size;
  }

  /** Returns the next unit among those most similar to the one before. */
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
    const { configuration: one } = itemAt(this.units, a);
    const { configuration: other } = itemAt(this.units, b);
    return (one.optimizer === other.optimizer ? 2 : 0) + (one.way === other.way ? 1 : 0);
  }
}
