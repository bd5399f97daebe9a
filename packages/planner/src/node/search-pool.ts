import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { RematError } from "@remat/trace";
import { runInTurn, type SearchRunner } from "../checkpointing/search-runner.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import type { Rematerialization, RematerializeOptions } from "../rematerialize.js";
import type { SearchAnswer, SearchOrder } from "./search-messages.js";

const workerFile: URL = new URL("./search-worker.js", import.meta.url);

/**
 * Returns whether workers are available. In a bundle they are not, because their file is not next to this one.
 * @internal
 */
export const hasWorkers = (): boolean => existsSync(workerFile);

/**
 * Worker threads that search on one graph. Each runs one search at a time. They are started when several searches are
 * needed, and a single search runs in the current thread. If a thread dies or does not finish in time, its search has
 * no result. @internal
 */
export class SearchPool implements SearchRunner {
  readonly workers: number;
  private readonly graph: PlanningGraph;
  private readonly file: URL;
  private readonly graceMs: number;
  private readonly threads: (Worker | undefined)[] = [];

  /**
   * @param graph the graph to search on
   * @param workers the number of threads
   * @param options `file` is the script of the threads. `graceMs` is the time that a search may take beyond twice its
   * limit
   */
  constructor(
    graph: PlanningGraph,
    workers: number,
    { file = workerFile, graceMs = usualGraceMs }: { readonly file?: URL; readonly graceMs?: number } = {},
  ) {
    this.graph = graph;
    this.workers = workers;
    this.file = file;
    this.graceMs = graceMs;
  }

  async run(tasks: readonly RematerializeOptions[]): Promise<(Rematerialization | undefined)[]> {
    const count = Math.min(this.workers, tasks.length);
    if (count < 2) return runInTurn(this.graph).run(tasks);
    const found = Array.from(tasks, (): Rematerialization | undefined => undefined);
    let next = 0;
    const work = async (slot: number) => {
      while (next < tasks.length) {
        const id = next++;
        const thread = (this.threads[slot] ??= this.start());
        found[id] = await searchIn(thread, id, tasks[id], this.graceMs);
        if (found[id] !== undefined) continue;
        // The thread died, or may still be searching. Another one replaces it.
        this.threads[slot] = undefined;
        await thread.terminate();
      }
    };
    await Promise.all(Array.from({ length: count }, (_, slot) => work(slot)));
    return found;
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all(this.threads.splice(0).flatMap((thread) => thread?.terminate() ?? []));
  }

  private start(): Worker {
    const { nodeName: _nodeName, ...workerData } = this.graph;
    const thread = new Worker(this.file, { workerData });
    // An idle thread must not keep the process alive.
    thread.unref();
    return thread;
  }
}

/**
 * Default of `graceMs`. A thread takes seconds to start on a busy machine, and a search on a large graph goes through
 * the whole graph once more when it ends.
 */
const usualGraceMs = 4000;

/** Returns the result of a search in a thread, or undefined if the thread dies or does not answer in time. */
function searchIn(
  thread: Worker,
  id: number,
  options: RematerializeOptions,
  graceMs: number,
): Promise<Rematerialization | undefined> {
  const { signal, onProgress, ...rest } = options;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const endIn = (ms: number) => {
      clearTimeout(timer);
      if (ms < mostTimerMs) timer = setTimeout(end, ms);
    };
    const stop = () => {
      thread.postMessage({ id } satisfies SearchOrder);
      endIn(graceMs);
    };
    const settle = () => {
      clearTimeout(timer);
      thread.unref();
      thread.off("message", hear).off("error", end).off("exit", end);
      signal?.removeEventListener("abort", stop);
    };
    const end = () => {
      settle();
      resolve(undefined);
    };
    const hear = (answer: SearchAnswer) => {
      if (answer.id !== id) return;
      if ("progress" in answer) return onProgress?.(answer.progress);
      if ("found" in answer) {
        settle();
        return resolve(answer.found);
      }
      const { code, message } = answer.failure;
      if (code === undefined) return end();
      settle();
      reject(new RematError(code, message));
    };
    thread.ref();
    thread.on("message", hear).on("error", end).on("exit", end);
    signal?.addEventListener("abort", stop);
    thread.postMessage({ id, options: rest, isFollowed: onProgress !== undefined } satisfies SearchOrder);
    const { timeMs = Number.POSITIVE_INFINITY } = options;
    endIn(2 * timeMs + graceMs);
    if (signal?.aborted === true) stop();
  });
}

/** Node replaces longer delays by one millisecond. */
const mostTimerMs = 2 ** 31;
