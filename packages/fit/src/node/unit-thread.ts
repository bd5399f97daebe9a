import { Worker } from "node:worker_threads";
import { RematError } from "@remat/trace";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { readAnswer } from "./read-answer.js";
import type { UnitOrder, UnitReport } from "./unit-messages.js";

/** The number of new threads that may try a unit after a thread died during it. */
const mostDeaths = 2;

/**
 * A thread that answers units, one after the other. Its program calls `serveUnits`. The thread starts with the first
 * unit, and starts again after it has died.
 */
export class UnitThread {
  private readonly file: URL;
  private readonly workerData: unknown;
  private thread: Worker | undefined;
  private isStopped = false;
  private asked = 0;

  constructor(file: URL, workerData: unknown) {
    this.file = file;
    this.workerData = workerData;
  }

  /**
   * Answers a unit. Returns undefined if the thread was stopped before.
   *
   * @throws RematError the errors that the unit throws, and `FIT_WORKER` if the unit causes threads to die
   */
  async answer(unit: FitUnit, onTried?: (batch: number) => void): Promise<FitAnswer | undefined> {
    for (let deaths = 0; !this.isStopped; ) {
      const answer = await answerIn((this.thread ??= this.start()), { id: this.asked++, unit }, onTried);
      if (answer !== "died") return answer;
      this.thread = undefined;
      if (!this.isStopped && ++deaths > mostDeaths)
        throw new RematError(
          "FIT_WORKER",
          `a thread crashed ${deaths} times on one configuration, ${JSON.stringify(unit.configuration)}. If memory ran out, use fewer --workers.`,
        );
    }
    return undefined;
  }

  /** Starts a thread. If the thread dies while it is idle, nothing happens. */
  private start(): Worker {
    const thread = new Worker(this.file, { workerData: this.workerData });
    thread
      .on("error", () => undefined)
      .once("exit", () => {
        if (this.thread === thread) this.thread = undefined;
      });
    return thread;
  }

  /** Ends the thread, even in the middle of a unit. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.thread?.terminate();
  }
}

/** Returns the answer of a thread, or `died` if it ends first. */
function answerIn(thread: Worker, order: UnitOrder, onTried?: (batch: number) => void): Promise<FitAnswer | "died"> {
  return new Promise((resolve, reject) => {
    const settle = (): void => void thread.off("message", hear).off("error", end).off("exit", end);
    const end = (): void => {
      settle();
      resolve("died");
    };
    const hear = (report: UnitReport): void => {
      if (report.id !== order.id) return;
      if ("batch" in report) return onTried?.(report.batch);
      settle();
      if ("answer" in report) {
        try {
          return resolve(readAnswer(report.answer, order.unit));
        } catch (error) {
          return reject(error as Error);
        }
      }
      const { code, message } = report.failure;
      reject(code === undefined ? new Error(message) : new RematError(code, message));
    };
    thread.on("message", hear).on("error", end).on("exit", end);
    thread.postMessage(order);
  });
}
