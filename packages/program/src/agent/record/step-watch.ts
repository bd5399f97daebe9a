import { type Trace, writeTrace } from "@remat/trace";
import { modelNames } from "../../model-names.js";
import type { WatchedStep } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { nameOfOptimizer } from "./write-step.js";

/** Nobody can look at more steps. */
const leastMs = 200;
/** Steps are let go unseen for so many times what it took to look at one: looking is not to make training slow. */
const restFactor = 4;
/** But no longer: of a program whose steps take seconds every second one is seen. */
const longestRestMs = 1000;

/** A step that was seen from its beginning to its end. */
export interface SeenStep extends Pick<WatchedStep, "pass" | "stepMs"> {
  readonly optimizer: object | undefined;
}

/** Tells of steps while the program goes on, as often as somebody can look at them. */
export class StepWatch {
  private readonly reporter: Pick<ThreadReporter, "io" | "watched" | "write">;
  private seen = 0;
  private dueAt = 0;
  private readonly files: string[] = [];

  constructor(reporter: Pick<ThreadReporter, "io" | "watched" | "write">) {
    this.reporter = reporter;
  }

  /** Whether the next step is to be recorded. */
  get isDue(): boolean {
    return performance.now() >= this.dueAt;
  }

  /** Writes a step to a file of its own; one that is being read stays until the next is there. */
  tell(trace: Trace, { pass, optimizer, stepMs }: SeenStep): void {
    if (!this.isDue) return;
    const begun = performance.now();
    const { reporter, files } = this;
    const file = reporter.io.pathFor(`watched-${this.seen++}.remat.jsonl`);
    if (file !== undefined && reporter.io.writeChunks(file, writeTrace(trace))) {
      files.push(file);
      if (files.length > 2) reporter.io.remove(files.shift()!);
      reporter.watched = { file, pass, model: modelNames(trace), optimizer: nameOfOptimizer(optimizer), stepMs };
    }
    reporter.write();
    const now = performance.now();
    this.dueAt = now + Math.min(longestRestMs, Math.max(leastMs, restFactor * (stepMs + now - begun)));
  }
}
