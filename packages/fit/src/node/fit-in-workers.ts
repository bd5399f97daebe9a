import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { RematError } from "@remat/trace";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import type { UnitCache } from "./unit-cache.js";
import type { UnitOrder, UnitReport } from "./unit-messages.js";

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
  readonly cache?: UnitCache;
  /** Ends the search early; what was found so far is the answer. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: FitProgress) => void;
}

const mostWorkers = 8;
/** So often a unit is given to another thread where one died of it. */
const mostDeaths = 2;

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
  const { file, cache, signal, onProgress, workers = Math.min(mostWorkers, availableParallelism()) } = options;
  const answers = units.map((unit) => cache?.get(unit));
  const open = new OpenUnits(units, (i) => answers[i] === undefined);
  let done = answers.filter((answer) => answer !== undefined).length;
  const settle = (i: number, answer: FitAnswer): void => {
    answers[i] = answer;
    done++;
    cache?.put(units[i], answer);
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
  const threads = new Set<Worker>();
  const stop = (): void => {
    for (const thread of threads) void thread.terminate();
  };
  signal?.addEventListener("abort", stop);
  const work = async (): Promise<void> => {
    let thread: Worker | undefined;
    let deaths = 0;
    for (let i = open.take(undefined); i !== undefined && !isOver(); ) {
      tell(i);
      if (thread === undefined) threads.add((thread = new Worker(file, { workerData: options.workerData })));
      const answer = await answerIn(thread, { id: i, unit: units[i] }, (batch) => tell(i!, batch));
      if (answer === "died") {
        threads.delete(thread);
        thread = undefined;
        if (isOver()) return;
        if (++deaths > mostDeaths)
          throw new RematError(
            "FIT_WORKER",
            `a thread died ${deaths} times of one unit, ${JSON.stringify(units[i].configuration)}. Give fewer --workers, if memory ran out.`,
          );
        continue;
      }
      deaths = 0;
      settle(i, answer);
      i = open.take(i);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(workers, open.count) }, work));
    return answers;
  } finally {
    signal?.removeEventListener("abort", stop);
    await Promise.all([...threads].map((thread) => thread.terminate()));
  }
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

/** Returns what a thread answers; `died` where it ends before. */
function answerIn(thread: Worker, order: UnitOrder, onTried: (batch: number) => void): Promise<FitAnswer | "died"> {
  return new Promise((resolve, reject) => {
    const settle = (): void => void thread.off("message", hear).off("error", end).off("exit", end);
    const end = (): void => {
      settle();
      resolve("died");
    };
    const hear = (report: UnitReport): void => {
      if (report.id !== order.id) return;
      if ("batch" in report) return onTried(report.batch);
      settle();
      if ("answer" in report) return resolve(report.answer);
      const { code, message } = report.failure;
      reject(code === undefined ? new Error(message) : new RematError(code, message));
    };
    thread.on("message", hear).on("error", end).on("exit", end);
    thread.postMessage(order);
  });
}
