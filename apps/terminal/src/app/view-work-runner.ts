import { presentQuestion, refusedWhatIf } from "@remat/reporting";
import type { ViewAnswer, ViewWork, WhatIfWork } from "../state/work.js";
import type { AnswerWhatIfs } from "./host.js";
import { WorkThread } from "./work-thread.js";

export interface ViewWorkOptions {
  /** Time limit for planning a step, in milliseconds. */
  readonly planTimeMs: number;
  readonly answerWhatIfs?: AnswerWhatIfs | undefined;
  readonly answer: (view: string, answer: ViewAnswer) => void;
}

/** Work of one view that is running or delayed. */
interface Running {
  readonly stop: AbortController;
  /** Starts delayed work now. Resolves when it is done. */
  readonly finish: () => Promise<void>;
}

/** Runs long work for views, at most one piece of each kind per view. */
export class ViewWorkRunner {
  private readonly running = new Map<string, Running>();
  private readonly options: ViewWorkOptions;
  private readonly thread: WorkThread = new WorkThread();

  constructor(options: ViewWorkOptions) {
    this.options = options;
  }

  begin(view: string, work: ViewWork): void {
    const key = keyOf(view, work.kind);
    this.running.get(key)?.stop.abort();
    const stop = new AbortController();
    let done: Promise<void> | undefined;
    const finish = (): Promise<void> => {
      clearTimeout(timer);
      return (done ??= this.work(view, work, stop.signal).finally(() => {
        if (this.running.get(key)?.stop === stop) this.running.delete(key);
      }));
    };
    const timer = setTimeout(() => void finish(), work.kind === "planModule" ? work.restMs : 0);
    stop.signal.addEventListener("abort", () => clearTimeout(timer));
    this.running.set(key, { stop, finish });
  }

  /** Stops a view's work of a kind. Planning a step then returns its best result. */
  stop(view: string, kind: ViewWork["kind"]): void {
    this.running.get(keyOf(view, kind))?.stop.abort();
  }

  stopAll(): void {
    for (const { stop } of this.running.values()) stop.abort();
  }

  /** Resolves when all work, including delayed work, is done. Returns whether there was any. */
  async finish(): Promise<boolean> {
    const all = [...this.running.values()].filter(({ stop }) => !stop.signal.aborted);
    await Promise.all(all.map(({ finish }) => finish()));
    return all.length > 0;
  }

  private async work(view: string, work: ViewWork, signal: AbortSignal): Promise<void> {
    // Module results are dropped if a newer request has replaced them. Step results are reported even after a stop.
    const isWanted = (): boolean => work.kind === "planWholeStep" || work.kind === "planFront" || !signal.aborted;
    const answer = (found: ViewAnswer): void => {
      if (isWanted()) this.options.answer(view, found);
    };
    const { answerWhatIfs } = this.options;
    if ((work.kind === "whatIf" || work.kind === "usualWhatIfs") && work.of.path !== undefined && answerWhatIfs)
      return answerOfModel(work, work.of.path, answerWhatIfs, { signal, answer });
    await this.thread.do(work, { timeMs: this.options.planTimeMs, signal, answer });
  }
}

/** Answers a question about a model. Its code runs where the host traces it. */
async function answerOfModel(
  work: WhatIfWork,
  path: string,
  answerWhatIfs: AnswerWhatIfs,
  { signal, answer }: { readonly signal: AbortSignal; readonly answer: (answer: ViewAnswer) => void },
): Promise<void> {
  const { trace, of } = work;
  const { device, pricedFor } = of;
  const question = work.kind === "whatIf" ? work.question : undefined;
  const kind = question === undefined ? "usualWhatIf" : "whatIfAnswered";
  try {
    await answerWhatIfs(path, question, { device, pricedFor, signal, onRow: (row) => answer({ kind, trace, row }) });
  } catch (error) {
    if (!signal.aborted)
      answer({ kind, trace, row: refusedWhatIf(question ?? presentQuestion, (error as Error).message) });
  }
  if (question === undefined) answer({ kind: "usualWhatIfsDone", trace });
}

function keyOf(view: string, kind: ViewWork["kind"]): string {
  return `${view} ${kind}`;
}
