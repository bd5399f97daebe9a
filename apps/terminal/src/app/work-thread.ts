import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Trace } from "@remat/trace";
import type { ViewAnswer, ViewWork } from "../state/work.js";
import { type DoWorkOptions, doWork } from "./do-work.js";
import type { WorkOrder, WorkReport } from "./work-messages.js";

const workerFile: URL = new URL("./work-worker.js", import.meta.url);

/** What is under way in the thread. */
interface Pending {
  readonly work: ViewWork;
  readonly answer: (answer: ViewAnswer) => void;
  readonly settle: (outcome: "done" | "lost") => void;
}

/**
 * A thread that does what takes views long, so that keys are answered meanwhile; started when there is something to do. Where its file is not beside this one, as in a
 * bundle or among sources, or where it dies, the work is done here.
 */
export class WorkThread {
  private readonly file: URL;
  private worker: Worker | undefined;
  private readonly pending = new Map<number, Pending>();
  /** Of these the process waits for what comes. */
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
        // Whoever leaves the app does not wait for it.
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
    // What a solver prints would go across the screen.
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

  /** A trace goes over once, and is named from then on. */
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
    // What another thread was told, this one was not.
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

/** Views tell by the very trace, or statistics, whether an answer is for them. */
function subjectsBack(answer: WorkReport["answer"], work: ViewWork): ViewAnswer {
  return (
    work.kind === "planModule" ? { ...answer, stats: work.stats } : { ...answer, trace: work.trace }
  ) as ViewAnswer;
}
