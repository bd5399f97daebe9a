import { setTimeout as wait } from "node:timers/promises";
import { RematError } from "@remat/trace";
import type { Worker } from "bullmq";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { connectFleet } from "./connect-fleet.js";
import { type FleetUnit, queueName, readFleetUnit, writeFailure } from "./fleet-unit.js";

/** Answers units of certain files, one at a time, such as a `UnitThread`. */
export interface UnitAnswerer {
  answer(unit: FitUnit): Promise<FitAnswer | undefined>;
  stop(): Promise<void>;
}

export interface ServeFleetOptions {
  /** Returns a hash of the files that a job names, as they are here. Throws a `RematError` if the job names something that this worker was not given. */
  contentKey(files: unknown): string;
  /** Starts something that answers units of these files. It should not keep this thread busy, since the server has to hear from it. */
  answerer(files: unknown): UnitAnswerer;
  /** How many units at once; 1 if not given. */
  readonly workers?: number;
  /** After how long a unit is ended, in milliseconds; one hour if not given. */
  readonly unitMs?: number;
  /** After how long a unit is another worker's whose worker is not heard of, in milliseconds; 10 s if not given. */
  readonly lockMs?: number;
  readonly onAnswered?: (given: FleetUnit) => void;
}

/** A process that takes units. */
export interface FleetWorker {
  /** Answers the units that it is at, and takes no more. */
  close(): Promise<void>;
}

const usualUnitMs = 3600e3;

/** So many workers may be lost over one unit: by chance, or since they have not the memory for it. */
const mostLost = 10;

/**
 * Takes units from a queue until it is closed. A unit whose worker dies, or loses touch with the server, is another's; since a unit is a function of files, it does not matter which of two
 * answers counts.
 *
 * @throws RematError `FIT_FLEET` where there is no server, or no BullMQ
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
        // It would fail everywhere.
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
  // A server that is away comes back, and the client with it; an answer that comes too late is somebody else's already.
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

/** As many answerers as units are answered at once, each of the files that it answered of last. */
class AnswererPool {
  /** That which has waited longest first. */
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
          throw new RematError("FIT_FLEET", "a worker was closed in the midst of a unit. Ask again.");
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

  /** A model's code may wait for something that never comes. */
  private async inTime<T>(answer: Promise<T>): Promise<T> {
    const timer = new AbortController();
    try {
      const late = wait(this.unitMs, undefined, { signal: timer.signal, ref: false }).then(() => {
        throw new RematError("FIT_FLEET", `a unit took longer than ${this.unitMs / 1000} s, and was ended.`);
      });
      return await Promise.race([answer, late]);
    } finally {
      timer.abort();
    }
  }

  /** The files are looked at where an answerer begins, which loads them then. */
  private async take({ files, contentKey }: FleetUnit, keyOf: (files: unknown) => string): Promise<Kept> {
    const at = this.free.findIndex((each) => each.contentKey === contentKey);
    if (at >= 0) return this.free.splice(at, 1)[0];
    if (keyOf(files) !== contentKey)
      throw new RematError(
        "FIT_FLEET",
        "a worker has other files or another release of remat than the one who asks. Start remat fit --serve with the same files, packages and release.",
      );
    if (this.busy + this.free.length > this.most) await this.free.shift()?.answerer.stop();
    return { contentKey, answerer: this.start(files) };
  }

  async stop(): Promise<void> {
    await Promise.all(this.free.splice(0).map(({ answerer }) => answerer.stop()));
  }
}
