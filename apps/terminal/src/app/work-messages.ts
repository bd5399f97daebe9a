import type { ViewAnswer, ViewWork } from "../state/work.js";

type Without<T, Key extends string> = T extends unknown ? Omit<T, Key> : never;

/** What the thread is told. @internal */
export type WorkOrder =
  | { readonly kind: "trace"; readonly number: number; readonly parts: unknown }
  | {
      readonly kind: "do";
      readonly id: number;
      readonly timeMs: number;
      readonly work: Without<ViewWork, "trace" | "planned">;
      /** Number of the trace that the work is on, if it is on one. */
      readonly trace?: number;
      /** Of the one that plans are made of, if that is another. */
      readonly planned?: number;
      /** Of the one beside it. */
      readonly other?: number;
    }
  | { readonly kind: "stop"; readonly id: number };

/** What it tells: an answer, without the trace or statistics that it is of; none where it is done. @internal */
export interface WorkReport {
  readonly id: number;
  readonly answer?: Without<ViewAnswer, "trace" | "stats">;
}
