import { setTimeout as wait } from "node:timers/promises";
import { RematError } from "@remat/trace";
import type { Job, Queue } from "bullmq";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { answersIn, type FitProgress } from "../node/fit-in-workers.js";
import { readAnswer } from "../node/read-answer.js";
import type { UnitCache } from "../node/unit-cache.js";
import { connectFleet } from "./connect-fleet.js";
import { type FleetUnit, fleetId, queueName, readFailure } from "./fleet-unit.js";

export interface FleetProgress extends FitProgress {
  /** How many processes take units; where there is none, nothing will be answered before one comes. */
  readonly workers: number;
}

export interface FitInFleetOptions extends Pick<FleetUnit, "files" | "contentKey"> {
  /** The server: `redis://localhost:6379`. */
  readonly url: string;
  readonly cache?: UnitCache | undefined;
  /** Ends the search early; what was found so far is the answer. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: FleetProgress) => void;
  /** Called for each answer of the fleet that cannot be one, with what is wrong. The unit is asked again. */
  readonly onRejected?: (why: string) => void;
  /** Told of each answer, and of which unit it is; of those from the cache, too. */
  readonly onAnswer?: ((answer: FitAnswer, index: number) => void) | undefined;
}

/** Answers stay in the queue so long, for whoever asks again, in seconds. */
const keptSeconds = 24 * 3600;
/** How often to ask what was answered. */
const pollMs = 200;
/** How many wrong answers to one unit are rejected before the search ends: its workers are broken, or somebody writes to the server. */
const mostWrong = 3;
/** Of how many units at a time: those that were put first are answered first. */
const polledUnits = 256;

/**
 * Has the processes of a fleet answer units, those that `serveFleet` takes units in: the same as `fitInWorkers`, in the order of the units. A unit has a name that follows from its content, by which it is in
 * the queue once, however often it is asked for and by how many; what the queue has lost (a server that came back empty) is put there again; an answer counts once. Undefined of those that nobody
 * had answered when `signal` ended the search.
 *
 * @throws RematError `FIT_FLEET` where there is no server, or no BullMQ; what a unit throws
 * @example
 * const answers = await fitInFleet(units, { url: "redis://localhost:6379", files, contentKey });
 */
export async function fitInFleet(
  units: readonly FitUnit[],
  { url, files, contentKey, cache, signal, onProgress, onRejected, onAnswer }: FitInFleetOptions,
): Promise<readonly (FitAnswer | undefined)[]> {
  const answers = answersIn(cache, units, onAnswer);
  /** The places of each unit that is not answered yet, by its name: the same unit may be asked for twice. */
  const open = new Map<string, number[]>();
  for (const [i, unit] of units.entries()) {
    if (answers[i] !== undefined) continue;
    const id = fleetId({ contentKey, unit });
    open.set(id, [...(open.get(id) ?? []), i]);
  }
  if (open.size === 0) return answers;
  const { bullmq, client } = await connectFleet(url);
  const queue: Queue<FleetUnit, unknown> = new bullmq.Queue(queueName, { connection: client });
  // A server that is away comes back.
  queue.on("error", () => undefined);
  const unitOf = (id: string): FitUnit => units[open.get(id)![0]];
  const put = (ids: readonly string[]): Promise<unknown> =>
    queue.addBulk(
      ids.map((jobId) => ({
        name: "unit",
        data: { files, contentKey, unit: unitOf(jobId) },
        opts: { jobId, removeOnComplete: { age: keptSeconds }, removeOnFail: { age: keptSeconds } },
      })),
    );
  const settle = (id: string, answer: FitAnswer): void => {
    for (const i of open.get(id)!) {
      answers[i] = answer;
      cache?.put(units[i], answer);
      onAnswer?.(answer, i);
    }
    open.delete(id);
  };
  const wrong = new Map<string, number>();
  /** Undefined for what cannot be an answer: the unit is then put into the queue again, since it is not there any more. */
  const takeAnswer = (id: string, value: unknown, unit: FitUnit): FitAnswer | undefined => {
    try {
      return readAnswer(value, unit);
    } catch (error) {
      const times = (wrong.get(id) ?? 0) + 1;
      wrong.set(id, times);
      if (times > mostWrong)
        throw new RematError(
          "FIT_FLEET",
          `the fleet answered the same unit wrongly ${times} times: ${(error as Error).message} Look at its workers, and at who may write to its server.`,
        );
      onRejected?.((error as Error).message);
      return undefined;
    }
  };
  const look = async (): Promise<void> => {
    const asked = [...open.keys()].slice(0, polledUnits);
    const states = await Promise.all(asked.map((id) => queue.getJobState(id)));
    const idsOf = (...wanted: readonly string[]): string[] => asked.filter((_, i) => wanted.includes(states[i]));
    const lost = idsOf("unknown");
    if (lost.length > 0) await put(lost);
    for (const id of idsOf("completed", "failed")) {
      const job: Job<FleetUnit, unknown> | undefined = await queue.getJob(id);
      if (job?.failedReason) {
        // Whoever asks again has it tried again.
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
    const left = [...open.values()].reduce((sum, places) => sum + places.length, 0);
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
    // While the server is away a command waits, so that it is not asked whether the search is over.
    await Promise.race([work(), ended(signal)]);
    return answers;
  } catch (error) {
    if (signal?.aborted) return answers;
    throw error instanceof RematError
      ? error
      : new RematError("FIT_FLEET", `the queue failed: ${(error as Error).message}. Look at its server.`, {
          cause: error,
        });
  } finally {
    await Promise.race([withdraw(queue, [...open.keys()]), wait(1000, undefined, { ref: false })]);
    client.disconnect();
  }
}

/** What failed for somebody else may do better now. */
async function forgetFailures(queue: Queue, ids: readonly string[]): Promise<void> {
  const states = await Promise.all(ids.map((id) => queue.getJobState(id)));
  const failed = ids.filter((_, i) => states[i] === "failed");
  await Promise.all(failed.map((id) => queue.remove(id)));
}

/** Takes back what nobody has begun: whoever else asks for it puts it there again. */
async function withdraw(queue: Queue, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => queue.remove(id).catch(() => undefined)));
}

function ended(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
