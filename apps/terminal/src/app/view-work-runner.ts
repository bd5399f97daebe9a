import type { ViewAnswer, ViewWork } from "../state/work.js";
import { planWholeStep } from "./plan-whole-step.js";

export interface ViewWorkOptions {
  /** Milliseconds that planning a step may take. */
  readonly planTimeMs: number;
  readonly answer: (view: string, answer: ViewAnswer) => void;
}

/** Work of one view that is under way, or rests before it begins. */
interface Running {
  readonly stop: AbortController;
  /** Begins now what rests; resolves when it is done. */
  readonly finish: () => Promise<void>;
}

/** Does what takes views long: of each kind one at a time for a view. */
export class ViewWorkRunner {
  private readonly running = new Map<string, Running>();
  private readonly options: ViewWorkOptions;

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

  /** Stops a view's work of a kind; planning a step then answers with the best that it has. */
  stop(view: string, kind: ViewWork["kind"]): void {
    this.running.get(keyOf(view, kind))?.stop.abort();
  }

  stopAll(): void {
    for (const { stop } of this.running.values()) stop.abort();
  }

  /** Resolves when everything that was begun is done, without letting it rest; whether there was anything. */
  async finish(): Promise<boolean> {
    const all = [...this.running.values()].filter(({ stop }) => !stop.signal.aborted);
    await Promise.all(all.map(({ finish }) => finish()));
    return all.length > 0;
  }

  private async work(view: string, work: ViewWork, signal: AbortSignal): Promise<void> {
    const answer = (found: ViewAnswer): void => this.options.answer(view, found);
    switch (work.kind) {
      case "planModule": {
        const found = await planModule(work);
        // Another wish has taken its place.
        if (!signal.aborted) answer(found);
        return;
      }
      case "planWholeStep":
        return answer(await planWholeStep(work, { timeMs: this.options.planTimeMs, signal, answer }));
    }
  }
}

function keyOf(view: string, kind: ViewWork["kind"]): string {
  return `${view} ${kind}`;
}

async function planModule({ stats, budgetBytes }: Extract<ViewWork, { kind: "planModule" }>): Promise<ViewAnswer> {
  try {
    const { planModule: plan } = await import("@remat/planner");
    return { kind: "modulePlanned", stats, budgetBytes, policy: await plan(stats, { budgetBytes }) };
  } catch (error) {
    return { kind: "moduleNotPlanned", stats, budgetBytes, reason: (error as Error).message };
  }
}
