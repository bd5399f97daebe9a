import { type Trace, writeTrace } from "@remat/trace";
import { modelNames } from "../../model-names.js";
import type { WatchedStep } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { nameOfOptimizer } from "./write-step.js";

/** A person cannot follow more frequent steps. */
const leastMs = 200;
/**
 * After a step is watched, later ones go unwatched for this many times the cost of watching it, so that training is not
 * slowed down.
 */
const restFactor = 4;
/** Upper limit of that pause. If steps take seconds, every second one is watched. */
const longestRestMs = 1000;

/** A step that was watched from beginning to end. */
export interface SeenStep extends Pick<WatchedStep, "pass" | "stepMs"> {
  readonly optimizer: object | undefined;
}

/** Reports steps while the program runs, as often as a person can follow. */
export class StepWatch {
  private readonly reporter: Pick<ThreadReporter, "io" | "watched" | "write">;
  private seen = 0;
  private dueAt = 0;
  private readonly files: string[] = [];

  constructor(reporter: Pick<ThreadReporter, "io" | "watched" | "write">) {
    this.reporter = reporter;
  }

  /** Returns whether the next step is to be recorded. */
  get isDue(): boolean {
    return performance.now() >= this.dueAt;
  }

  /**
   * Writes a step to a file of its own. The previous file stays until the next one exists, since it may still be read.
   */
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
