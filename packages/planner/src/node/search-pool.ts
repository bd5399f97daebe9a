import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { RematError } from "@remat/trace";
import { runInTurn, type SearchRunner } from "../checkpointing/search-runner.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import type { Rematerialization, RematerializeOptions } from "../rematerialize.js";
import type { SearchAnswer, SearchOrder } from "./search-messages.js";

const workerFile: URL = new URL("./search-worker.js", import.meta.url);

/** Whether there can be workers: not where their file is not beside this one, as in a bundle. @internal */
export const hasWorkers = (): boolean => existsSync(workerFile);

/**
 * Worker threads that search on one graph, each a search at a time; started when several searches are to run. A search by itself runs
 * here.
 * @internal
 */
export class SearchPool implements SearchRunner {
  readonly workers: number;
  private readonly graph: PlanningGraph;
  private readonly threads: Worker[] = [];

  constructor(graph: PlanningGraph, workers: number) {
    this.graph = graph;
    this.workers = workers;
  }

  async run(tasks: readonly RematerializeOptions[]): Promise<Rematerialization[]> {
    const count = Math.min(this.workers, tasks.length);
    if (count < 2) return runInTurn(this.graph).run(tasks);
    while (this.threads.length < count) this.threads.push(this.start());
    const found: Rematerialization[] = [];
    let next = 0;
    const work = async (thread: Worker) => {
      while (next < tasks.length) {
        const id = next++;
        found[id] = await searchIn(thread, id, tasks[id]);
      }
    };
    await Promise.all(this.threads.slice(0, count).map(work));
    return found;
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all(this.threads.splice(0).map((thread) => thread.terminate()));
  }

  private start(): Worker {
    const { nodeName: _nodeName, ...workerData } = this.graph;
    const thread = new Worker(workerFile, { workerData });
    // An idle thread keeps no process alive.
    thread.unref();
    return thread;
  }
}

function searchIn(thread: Worker, id: number, options: RematerializeOptions): Promise<Rematerialization> {
  const { signal, onProgress, ...rest } = options;
  return new Promise((resolve, reject) => {
    const stop = () => thread.postMessage({ id } satisfies SearchOrder);
    const settle = () => {
      thread.unref();
      thread.off("message", hear).off("error", fail).off("exit", exit);
      signal?.removeEventListener("abort", stop);
    };
    const fail = (cause: unknown) => {
      settle();
      if (cause instanceof RematError) return reject(cause);
      reject(new RematError("PLANNER_WORKER", `a search in a worker thread failed: ${String(cause)}`, { cause }));
    };
    const exit = (code: number) => fail(new Error(`the thread ended with code ${code}`));
    const hear = (answer: SearchAnswer) => {
      if (answer.id !== id) return;
      if ("progress" in answer) return onProgress?.(answer.progress);
      if ("error" in answer) return fail(answer.error);
      settle();
      resolve(answer.found);
    };
    thread.ref();
    thread.on("message", hear).on("error", fail).on("exit", exit);
    signal?.addEventListener("abort", stop);
    thread.postMessage({ id, options: rest, isFollowed: onProgress !== undefined } satisfies SearchOrder);
    if (signal?.aborted === true) stop();
  });
}
