import { setTimeout as wait } from "node:timers/promises";
import { RematError } from "@remat/trace";
import type { Worker } from "bullmq";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { connectFleet } from "./connect-fleet.js";
import { type FleetUnit, queueName, readFleetUnit, writeFailure } from "./fleet-unit.js";

/** Answers units for certain files, one at a time. `UnitThread` implements this interface. */
export interface UnitAnswerer {
  /** Returns the answer to a unit, or undefined if the answerer was stopped before. */
  answer(unit: FitUnit): Promise<FitAnswer | undefined>;
  /** Stops the answerer, even in the middle of a unit. */
  stop(): Promise<void>;
}

/** Options of {@link serveFleet}. */
export interface ServeFleetOptions {
  /**
   * Returns a hash of the content that the files of a job have on this machine. It throws a `RematError` if the job
   * names a file with which this worker was not started.
   */
  contentKey(files: unknown): string;
  /**
   * Starts an answerer for these files. It should not block this thread, because the worker must report to the server.
   */
  answerer(files: unknown): UnitAnswerer;
  /** The number of units answered at the same time. Default: 1. */
  readonly workers?: number;
  /** The time after which a unit is ended, in milliseconds. Default: one hour. */
  readonly unitMs?: number;
  /**
   * The time after which the unit of a silent worker is given to another worker, in milliseconds. Default: 10,000.
   */
  readonly lockMs?: number;
  readonly onAnswered?: (given: FleetUnit) => void;
}

/** A process that takes units. */
export interface FleetWorker {
  /** Finishes the current units and takes no more. */
  close(): Promise<void>;
}

const usualUnitMs = 3600e3;

/** The number of workers that one unit may lose, either by chance or because they lack the memory for it. */
const mostLost = 10;

/**
 * Answers units from a queue until it is closed.
 *
 * If a worker dies or loses its connection, another worker takes its unit. If both answer, either answer counts, since
 * a unit's answer depends only on files.
 *
 * @throws RematError `FIT_FLEET` if there is no server or no BullMQ
 * @example
 * const file = new URL("./fit-worker.js", import.meta.url); // calls serveUnits
 * const worker = await serveFleet("redis://localhost:6379", { contentKey, answerer: (files) => new UnitThread(file, files) });
 */
export async function serveFleet(
  url: string,
  { contentKey, answerer, workers = 1, lockMs = 10_000, unitMs = usualUnitMs, onAnswered }: ServeFleetOptions,
): Promise<FleetWorker> {
  const { bullmq, client } = await connectFleet(url);
  const pool = new AnswererPool(workers, answerer, unitMs);
  const worker: Worker<unknown, FitAnswer> = new bullmq.Worker(
    queueName,
    async ({ data }: { readonly data: unknown }) => {
      try {
        const given = readFleetUnit(data);
        const answer = await pool.answer(given, contentKey);
        onAnswered?.(given);
        return answer;
      } catch (error) {
        // The unit would fail on every worker, so the queue must not retry it.
        throw new bullmq.UnrecoverableError(writeFailure(error));
      }
    },
    {
      connection: client,
      concurrency: workers,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      maxStalledCount: mostLost,
    },
  );
  // Without a listener, an error of the connection would end the process. A lost server may come back, and a late
  // answer already belongs to another worker.
  worker.on("error", () => undefined);
  return {
    async close() {
      await worker.close();
      await pool.stop();
      client.disconnect();
    },
  };
}

type Kept = { readonly contentKey: string; readonly answerer: UnitAnswerer };

/** Keeps one answerer for each unit that is answered at the same time, with the files that it used last. */
class AnswererPool {
  /** The answerer that has been idle longest is first. */
  private readonly free: Kept[] = [];
  private busy = 0;
  private readonly most: number;
  private readonly start: (files: unknown) => UnitAnswerer;
  private readonly unitMs: number;

  constructor(most: number, start: (files: unknown) => UnitAnswerer, unitMs: number) {
    this.unitMs = unitMs;
    this.most = most;
    this.start = start;
  }

  async answer(given: FleetUnit, keyOf: (files: unknown) => string): Promise<FitAnswer> {
    this.busy++;
    try {
      const taken = await this.take(given, keyOf);
      try {
        const answer = await this.inTime(taken.answerer.answer(given.unit));
        if (answer === undefined)
          throw new RematError("FIT_FLEET", "a worker stopped during a task of the search. Run the search again.");
        this.free.push(taken);
        return answer;
      } catch (error) {
        await taken.answerer.stop();
        throw error;
      }
    } finally {
      this.busy--;
    }
  }

  /** Ends an answer that takes too long, because a model's code may wait forever. */
  private async inTime<T>(answer: Promise<T>): Promise<T> {
    const timer = new AbortController();
    try {
      const late = wait(this.unitMs, undefined, { signal: timer.signal, ref: false }).then(() => {
        throw new RematError(
          "FIT_FLEET",
          `a task of the search took longer than ${this.unitMs / 1000} s and was stopped. Search a smaller model or fewer configurations.`,
        );
      });
      return await Promise.race([answer, late]);
    } finally {
      timer.abort();
    }
  }

  /**
   * Returns an idle answerer for the files, or starts one. The files are checked when an answerer starts, because it
   * loads them then.
   */
  private async take({ files, contentKey }: FleetUnit, keyOf: (files: unknown) => string): Promise<Kept> {
    const idle = this.free.find((each) => each.contentKey === contentKey);
    if (idle !== undefined) {
      this.free.splice(this.free.indexOf(idle), 1);
      return idle;
    }
    if (keyOf(files) !== contentKey)
      throw new RematError(
        "FIT_FLEET",
        "a worker has different files or another version of remat. Start remat fit --serve with the same files, packages and version.",
      );
    if (this.busy + this.free.length > this.most) await this.free.shift()?.answerer.stop();
    return { contentKey, answerer: this.start(files) };
  }

  async stop(): Promise<void> {
    await Promise.all(this.free.splice(0).map(({ answerer }) => answerer.stop()));
  }
}
