import { Worker } from "node:worker_threads";
import type { AnswerWhatIfs } from "@remat/terminal";
import { RematError, type Trace } from "@remat/trace";
import type { ModelOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import type { WhatIfOrder, WhatIfReport } from "./what-if-worker.js";

/** Does not exist when running from sources. */
export const whatIfWorkerFile: URL = new URL("./what-if-worker.js", import.meta.url);

/** Answers what-if questions. `trace` is the step as it is. Left out: it is traced first. */
export type AnswerWhatIfsOfTrace = (
  path: Parameters<AnswerWhatIfs>[0],
  question: Parameters<AnswerWhatIfs>[1],
  options: Parameters<AnswerWhatIfs>[2] & { readonly trace?: Trace },
) => Promise<void>;

/**
 * Answers what-if questions about the step of a model in one thread per model, which caches its traces. Aborting a
 * question ends the thread if no others are waiting.
 */
export function answerWhatIfsOf(options: ModelOptions): AnswerWhatIfsOfTrace {
  const threads = new Map<string, Worker>();
  const waiting = new Map<Worker, Set<number>>();
  let lastId = 0;
  return (path, question, { trace, device, pricedFor, signal, onRow }) =>
    new Promise((resolvePromise, reject) => {
      const id = ++lastId;
      const thread = threads.get(path) ?? start(path, options);
      threads.set(path, thread);
      const ids = waiting.get(thread) ?? new Set();
      waiting.set(thread, ids.add(id));
      const end = (): void => {
        settle();
        // Other questions to this thread continue.
        if (ids.size > 0) return;
        threads.delete(path);
        void thread.terminate();
      };
      const settle = (error?: Error): void => {
        ids.delete(id);
        signal.removeEventListener("abort", end);
        thread.off("message", heard).off("error", failed).off("exit", failed);
        if (error === undefined) resolvePromise();
        else reject(error);
      };
      const heard = (report: WhatIfReport): void => {
        if (report.id !== id) return;
        if (report.kind === "row") onRow(report.row);
        else settle(report.kind === "done" ? undefined : new RematError("MODEL_FAILED", report.message));
      };
      const failed = (error: Error | number): void => {
        threads.delete(path);
        settle(
          typeof error === "number" ? new RematError("TERMINAL_STOPPED", "tracing ended early. Ask again.") : error,
        );
      };
      thread.on("message", heard).on("error", failed).on("exit", failed);
      signal.addEventListener("abort", end);
      const parts = trace && { parts: { ...trace } };
      thread.postMessage({ id, question, device, pricedFor, ...parts } satisfies WhatIfOrder);
      if (signal.aborted) end();
    });
}

function start(path: string, options: ModelOptions): Worker {
  // Output of the model's code or tfjs would disturb the screen.
  const worker = new Worker(whatIfWorkerFile, {
    workerData: { source: modelSource(path), options },
    stdout: true,
    stderr: true,
  });
  worker.unref();
  return worker.setMaxListeners(0);
}
