import { type ErrorCode, RematError } from "@remat/trace";
import { endWithParent } from "./end-with-parent.js";

/** Answer of a process: a result, or an error. */
export type Answer<Result> =
  | { readonly result: Result }
  | { readonly error: { readonly code: ErrorCode | undefined; readonly message: string; readonly stack: string } }
  | { readonly progress: string };

/**
 * Runs a child process: accepts one job and answers it. The parent ends the process, explicitly or by ending itself.
 *
 * @param work receives the job and a function that reports progress
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
