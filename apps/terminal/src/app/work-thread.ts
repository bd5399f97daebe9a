import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Trace } from "@remat/trace";
import type { ViewAnswer, ViewWork } from "../state/work.js";
import { type DoWorkOptions, doWork } from "./do-work.js";
import type { WorkOrder, WorkReport } from "./work-messages.js";

const workerFile: URL = new URL("./work-worker.js", import.meta.url);

/** Work in progress in the thread. */
interface Pending {
  readonly work: ViewWork;
  readonly answer: (answer: ViewAnswer) => void;
  readonly settle: (outcome: "done" | "lost") => void;
}

/**
 * A thread for long work of views, so that keys are handled in the meantime. It is started on demand. If its file is
 * not next to this one, as in a bundle or among sources, or if it dies, the work runs in this thread.
 */
export class WorkThread {
  private readonly file: URL;
  private worker: Worker | undefined;
  private readonly pending = new Map<number, Pending>();
  /** Ids of work that the process waits for. */
  private readonly awaited = new Set<number>();
  private traces = new WeakMap<Trace, number>();
  private lastId = 0;
  private lastTrace = 0;

  constructor(file: URL = workerFile) {
    this.file = file;
  }

  async do(work: ViewWork, options: DoWorkOptions): Promise<void> {
    if (!existsSync(this.file)) return doWork(work, options);
    const outcome = await this.ask(work, options);
    if (outcome === "lost" && !options.signal.aborted) return doWork(work, options);
  }

  private ask(work: ViewWork, { timeMs, signal, answer }: DoWorkOptions): Promise<"done" | "lost"> {
    return new Promise((resolve) => {
      const worker = (this.worker ??= this.start());
      const id = ++this.lastId;
      const endWait = (): void => {
        this.awaited.delete(id);
        if (this.awaited.size === 0) worker.unref();
      };
      const stop = (): void => {
        worker.postMessage({ kind: "stop", id } satisfies WorkOrder);
        // The process does not wait for this thread when the app closes.
        endWait();
      };
      const settle = (outcome: "done" | "lost"): void => {
        this.pending.delete(id);
        endWait();
        signal.removeEventListener("abort", stop);
        resolve(outcome);
      };
      this.pending.set(id, { work, answer, settle });
      this.awaited.add(id);
      worker.ref();
      signal.addEventListener("abort", stop);
      worker.postMessage(this.orderOf(id, work, timeMs, worker));
      if (signal.aborted) stop();
    });
  }

  private start(): Worker {
    // Output of a solver would disturb the screen.
    const worker = new Worker(this.file, { stdout: true, stderr: true });
    worker.on("message", ({ id, answer }: WorkReport) => {
      const pending = this.pending.get(id);
      if (pending === undefined) return;
      if (answer === undefined) pending.settle("done");
      else pending.answer(subjectsBack(answer, pending.work));
    });
    const lose = (): void => {
      this.worker = undefined;
      for (const { settle } of [...this.pending.values()]) settle("lost");
    };
    worker.on("error", lose).on("exit", lose);
    return worker;
  }

  /** Each trace is transferred once and then referred to by number. */
  private orderOf(id: number, work: ViewWork, timeMs: number, worker: Worker): WorkOrder {
    if (work.kind === "planModule") return { kind: "do", id, timeMs, work };
    const { trace, planned, ...rest } = { planned: undefined, ...work };
    const order = {
      ...({ kind: "do", id, timeMs, trace: this.numberOf(trace, worker) } as const),
      ...(planned !== undefined && { planned: this.numberOf(planned, worker) }),
    };
    if (!("of" in rest) || rest.of.other === undefined) return { ...order, work: rest };
    const { other, ...of } = rest.of;
    const named = { ...of, other: { ...other, trace: undefined } };
    return { ...order, work: { ...rest, of: named } as never, other: this.numberOf(other.trace, worker) };
  }

  private numberOf(trace: Trace, worker: Worker): number {
    // A new thread does not have the traces of the previous one.
    if (this.tracesOf !== worker) this.traces = new WeakMap();
    this.tracesOf = worker;
    let number = this.traces.get(trace);
    if (number === undefined) {
      number = ++this.lastTrace;
      this.traces.set(trace, number);
      worker.postMessage({ kind: "trace", number, parts: { ...trace } } satisfies WorkOrder);
    }
    return number;
  }

  private tracesOf: Worker | undefined;
}

/** Restores the trace or statistics objects, whose identity tells views whether an answer is for them. */
function subjectsBack(answer: WorkReport["answer"], work: ViewWork): ViewAnswer {
  return (
    work.kind === "planModule" ? { ...answer, stats: work.stats } : { ...answer, trace: work.trace }
  ) as ViewAnswer;
}
