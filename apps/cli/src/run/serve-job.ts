import { type ErrorCode, RematError } from "@remat/trace";
import { endWithParent } from "./end-with-parent.js";

/** What a process answers: a result, or why there is none. */
export type Answer<Result> =
  | { readonly result: Result }
  | { readonly error: { readonly code: ErrorCode | undefined; readonly message: string; readonly stack: string } }
  | { readonly progress: string };

/**
 * Lives the whole life of a child process: takes one job and answers it; whoever asked ends it, or by ending itself. What it does in between is its own.
 *
 * @param work is given the job, and what tells of progress
 */
export function serveJob<Job, Result>(work: (job: Job, tell: (progress: string) => void) => Promise<Result>): void {
  endWithParent();
  process.once("message", (job) => {
    void answerOf(job as Job).then((answer) =>
      process.send?.(answer, undefined, undefined, () => process.disconnect()),
    );
  });

  async function answerOf(job: Job): Promise<Answer<Result>> {
    try {
      return { result: await work(job, (progress) => process.send?.({ progress })) };
    } catch (error) {
      const { message, stack = "" } = error instanceof Error ? error : new Error(String(error));
      return { error: { code: error instanceof RematError ? error.code : undefined, message, stack } };
    }
  }
}
