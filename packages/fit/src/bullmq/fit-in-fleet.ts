import { setTimeout as wait } from "node:timers/promises";
import { itemAt, RematError } from "@remat/trace";
import type { Job, Queue } from "bullmq";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { answersIn, type FitProgress } from "../node/fit-in-workers.js";
import { readAnswer } from "../node/read-answer.js";
import type { UnitCache } from "../node/unit-cache.js";
import { connectFleet } from "./connect-fleet.js";
import { type FleetUnit, fleetId, queueName, readFailure } from "./fleet-unit.js";

/** The progress of a search in a fleet. */
export interface FleetProgress extends FitProgress {
  /** The number of processes that take units. If it is 0, no unit is answered until a worker is started. */
  readonly workers: number;
}

/** Options of {@link fitInFleet}. */
export interface FitInFleetOptions extends Pick<FleetUnit, "files" | "contentKey"> {
  /** The address of the server, such as `redis://localhost:6379`. */
  readonly url: string;
  readonly cache?: UnitCache | undefined;
  /** Ends the search early. The answers found so far are returned. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: FleetProgress) => void;
  /** Called for each invalid answer of the fleet, with the reason. The unit is put into the queue again. */
  readonly onRejected?: (why: string) => void;
  /** Called with each answer and the index of its unit, including answers from the cache. */
  readonly onAnswer?: ((answer: FitAnswer, index: number) => void) | undefined;
}

/** Answers stay in the queue for this time, so that other searches can use them. */
const keptSeconds = 24 * 3600;
/** The interval between checks for answers. */
const pollMs = 200;
/**
 * The number of invalid answers to one unit that are rejected before the search ends. More of them mean that workers are broken, or that another program writes to the server.
 */
const mostWrong = 3;
/** The number of units checked at a time. Units that were queued first are answered first. */
const polledUnits = 256;

/**
 * Answers units in the processes of a fleet, which run `serveFleet`. The answers are those of `fitInWorkers`, in the
 * order of the units.
 *
 * The name of a unit in the queue follows from its content. A unit that several searches request is therefore queued
 * once. If the queue loses units, because the server restarts empty, they are queued again. An answer counts once.
 * Units without an answer when `signal` ends the search are undefined.
 *
 * @throws RematError `FIT_FLEET` if there is no server or no BullMQ, and the errors that a unit throws
 * @example
 * const answers = await fitInFleet(units, { url: "redis://localhost:6379", files, contentKey });
 */
export async function fitInFleet(
  units: readonly FitUnit[],
  { url, files, contentKey, cache, signal, onProgress, onRejected, onAnswer }: FitInFleetOptions,
): Promise<readonly (FitAnswer | undefined)[]> {
  const answers = answersIn(cache, units, onAnswer);
  /** The open units by name, each with its positions. The same unit may occur twice. */
  const open = new Map<string, { readonly unit: FitUnit; readonly at: number[] }>();
  for (const [i, unit] of units.entries()) {
    if (answers[i] !== undefined) continue;
    const id = fleetId({ contentKey, unit });
    const known = open.get(id);
    if (known === undefined) open.set(id, { unit, at: [i] });
    else known.at.push(i);
  }
  if (open.size === 0) return answers;
  const { bullmq, client } = await connectFleet(url);
  const queue: Queue<FleetUnit, unknown> = new bullmq.Queue(queueName, { connection: client });
  // Without a listener, an error of the connection would end the process, but a lost server may come back.
  queue.on("error", () => undefined);
  const unitOf = (id: string): FitUnit => open.get(id)!.unit;
  const put = (ids: readonly string[]): Promise<unknown> =>
    queue.addBulk(
      ids.map((jobId) => ({
        name: "unit",
        data: { files, contentKey, unit: unitOf(jobId) },
        opts: { jobId, removeOnComplete: { age: keptSeconds }, removeOnFail: { age: keptSeconds } },
      })),
    );
  const settle = (id: string, answer: FitAnswer): void => {
    const { unit, at } = open.get(id)!;
    for (const i of at) {
      answers[i] = answer;
      cache?.put(unit, answer);
      onAnswer?.(answer, i);
    }
    open.delete(id);
  };
  const wrong = new Map<string, number>();
  /**
   * Returns the answer. If the value is not a valid answer, returns undefined, and removes the unit from the queue so
   * that it is queued again.
   */
  const takeAnswer = (id: string, value: unknown, unit: FitUnit): FitAnswer | undefined => {
    try {
      return readAnswer(value, unit);
    } catch (error) {
      const times = (wrong.get(id) ?? 0) + 1;
      wrong.set(id, times);
      if (times > mostWrong)
        throw new RematError(
          "FIT_FLEET",
          `the fleet returned ${times} wrong answers to one task of the search: ${(error as Error).message} Check its workers, and who can write to its server.`,
        );
      onRejected?.((error as Error).message);
      return undefined;
    }
  };
  const look = async (): Promise<void> => {
    const asked = [...open.keys()].slice(0, polledUnits);
    const states = await Promise.all(asked.map((id) => queue.getJobState(id)));
    const idsOf = (...wanted: readonly string[]): string[] =>
      asked.filter((_, i) => wanted.includes(itemAt(states, i)));
    const lost = idsOf("unknown");
    if (lost.length > 0) await put(lost);
    for (const id of idsOf("completed", "failed")) {
      const job: Job<FleetUnit, unknown> | undefined = await queue.getJob(id);
      if (job?.failedReason) {
        // Removing the job lets the next search try the unit again.
        await job.remove().catch(() => undefined);
        throw readFailure(job.failedReason);
      }
      if (job === undefined) continue;
      const unit = unitOf(id);
      const answer = takeAnswer(id, job.returnvalue, unit);
      if (answer === undefined) await job.remove().catch(() => undefined);
      else {
        settle(id, answer);
        onProgress?.({ ...count(), unit, batch: undefined });
      }
    }
  };
  let workers = 0;
  const count = (): Pick<FleetProgress, "done" | "units" | "workers"> => {
    const left = [...open.values()].reduce((sum, { at }) => sum + at.length, 0);
    return { done: units.length - left, units: units.length, workers };
  };
  const work = async (): Promise<void> => {
    await forgetFailures(queue, [...open.keys()]);
    await put([...open.keys()]);
    for (let round = 0; open.size > 0; round++) {
      if (round % 10 === 0) workers = await queue.getWorkersCount();
      onProgress?.({ ...count(), unit: unitOf(open.keys().next().value!), batch: undefined });
      await look();
      if (open.size > 0) await wait(pollMs, undefined, { signal });
    }
  };
  try {
    // While the server is away a command waits, so the signal must be able to end the search by itself.
    await Promise.race([work(), ended(signal)]);
    return answers;
  } catch (error) {
    if (signal?.aborted) return answers;
    throw error instanceof RematError
      ? error
      : new RematError("FIT_FLEET", `the queue failed: ${(error as Error).message}. Check the Redis server.`, {
          cause: error,
        });
  } finally {
    await Promise.race([withdraw(queue, [...open.keys()]), wait(1000, undefined, { ref: false })]);
    client.disconnect();
  }
}

/** Removes units that failed in other searches, because they may succeed now. */
async function forgetFailures(queue: Queue, ids: readonly string[]): Promise<void> {
  const states = await Promise.all(ids.map((id) => queue.getJobState(id)));
  const failed = ids.filter((_, i) => states[i] === "failed");
  await Promise.all(failed.map((id) => queue.remove(id)));
}

/** Removes units that no worker has begun. Other searches that need them queue them again. */
async function withdraw(queue: Queue, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => queue.remove(id).catch(() => undefined)));
}

function ended(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
