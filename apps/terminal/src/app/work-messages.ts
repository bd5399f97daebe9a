import type { ViewAnswer, ViewWork } from "../state/work.js";

type Without<T, Key extends string> = T extends unknown ? Omit<T, Key> : never;

/**
 * A message to the thread.
 *
 * @internal
 */
export type WorkOrder =
  | { readonly kind: "trace"; readonly number: number; readonly parts: unknown }
  | {
      readonly kind: "do";
      readonly id: number;
      readonly timeMs: number;
      readonly work: Without<ViewWork, "trace" | "planned">;
      /** Number of the trace that the work uses, if any. */
      readonly trace?: number;
      /** Number of the trace that plans are made for, if it is a different one. */
      readonly planned?: number;
      /** Number of the second trace. */
      readonly other?: number;
    }
  | { readonly kind: "stop"; readonly id: number };

/**
 * A message from the thread: an answer without its trace or statistics. Without an answer, the work is done.
 *
 * @internal
 */
export interface WorkReport {
  readonly id: number;
  readonly answer?: Without<ViewAnswer, "trace" | "stats">;
}
