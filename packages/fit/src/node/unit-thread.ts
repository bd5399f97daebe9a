import { Worker } from "node:worker_threads";
import { RematError } from "@remat/trace";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import { readAnswer } from "./read-answer.js";
import type { UnitOrder, UnitReport } from "./unit-messages.js";

/** So often a unit is given to a fresh thread where one died of it. */
const mostDeaths = 2;

/** A thread that answers units, one after the other: what it runs calls `serveUnits`. It is started with the first unit, and again where it died. */
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
   * Answers a unit; undefined where the thread was stopped before.
   *
   * @throws RematError what the unit throws; `FIT_WORKER` where threads die of it
   */
  async answer(unit: FitUnit, onTried?: (batch: number) => void): Promise<FitAnswer | undefined> {
    for (let deaths = 0; !this.isStopped; ) {
      const answer = await answerIn((this.thread ??= this.start()), { id: this.asked++, unit }, onTried);
      if (answer !== "died") return answer;
      this.thread = undefined;
      if (!this.isStopped && ++deaths > mostDeaths)
        throw new RematError(
          "FIT_WORKER",
          `a thread died ${deaths} times of one unit, ${JSON.stringify(unit.configuration)}. Give fewer --workers, if memory ran out.`,
        );
    }
    return undefined;
  }

  /** A thread that dies while it has nothing to do is not missed. */
  private start(): Worker {
    const thread = new Worker(this.file, { workerData: this.workerData });
    thread
      .on("error", () => undefined)
      .once("exit", () => {
        if (this.thread === thread) this.thread = undefined;
      });
    return thread;
  }

  /** Ends the thread, in the midst of a unit too. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.thread?.terminate();
  }
}

/** Returns what a thread answers; `died` where it ends before. */
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
