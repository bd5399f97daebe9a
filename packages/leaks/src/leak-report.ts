import type { GrowthVerdict } from "@remat/memory/growth";
import type { LineEstimate } from "./line-estimate.js";
import type { ProcessGrowth } from "./process-growth.js";

/** How tensors came to outlive their period. */
export type LeakOrigin =
  /** A variable of a model. */
  | "model"
  /** A slot of an optimizer: a variable that it made. */
  | "optimizer"
  /** A tensor of an optimizer that is not a slot, such as a learning rate. */
  | "constant"
  | "variable"
  /** Kept by `tf.keep`. */
  | "kept"
  /** Made by an iterator of tfjs-data. */
  | "iterator"
  /** Returned from a `tidy`, or from a function of TensorFlow.js that uses one. */
  | "returned"
  /** Made outside every `tidy`. */
  | "outside"
  /** Not a tensor: an array returned by `data` or `dataSync`. */
  | "values";

/** A line that may have made tensors, if it is unknown which line made them. */
export interface PossibleLine {
  /** Its position as `file:line:column`. */
  readonly line: string;
  /**
   * Estimated share of the lost tensors of this op and shape that the line made. Left out if no tensor is lost, or if
   * too few of their stacks were taken.
   */
  readonly share?: number;
}

/**
 * Estimates of how many tensors of the same op, dtype and shape one line made, if only a random part of their stacks
 * was taken. If the line is unknown, the estimates cover all of these tensors.
 */
export interface LineEstimates {
  /** Among all that are alive now. */
  readonly alive: LineEstimate;
  /** Among those that the last census found lost. */
  readonly lost: LineEstimate;
  /** Among those that the last census found referenced. */
  readonly held: LineEstimate;
}

/** Live tensors of one allocation site: made by one op at one line. */
export interface LeakMaker {
  /**
   * `file:line:column`, or undefined if no line of the user's code was on the stack, or if the stacks taken do not
   * identify it.
   */
  readonly line: string | undefined;
  /**
   * Lines with the same op and shape that may have made them, if the stacks taken do not identify the line. The most
   * likely line comes first, if known. Left out if `line` is known.
   */
  readonly lines?: readonly PossibleLine[];
  /** The library function that made them, if no line of the user's code was on the stack. */
  readonly within?: string;
  /** The op's name in `tf.…`: `add`, `tensor`, `variable`. */
  readonly op: string;
  /** Some of their shapes with their dtype: `float32 [32,10]`. */
  readonly shapes: readonly string[];
  /** Some of the layers that made them, if known. */
  readonly modules: readonly string[];
  /** Names of some variables. */
  readonly names: readonly string[];
  /** How the tensors came to outlive their period. */
  readonly origin: LeakOrigin;
  /** The function that returned them, if known: `tidy`, `minimize`, `predict`. */
  readonly returnedBy: string | undefined;
  /** Tensors alive. */
  readonly count: number;
  /** Bytes of the tensors alive. */
  readonly bytes: number;
  /**
   * 95% confidence intervals, if counts are estimated from a random part of the tensors. Left out if they are exact,
   * and for values.
   */
  readonly estimates?: LineEstimates;
  /**
   * Parts of `count`: tensors whose object was garbage-collected (`lost`), and tensors whose object still exists
   * (`held`). Both are 0 if unknown.
   */
  readonly lost: number;
  /** Tensors of `count` whose object still exists. See `lost`. */
  readonly held: number;
  /** Verdict on whether their number grows. */
  readonly verdict: GrowthVerdict;
  /** The kind of period that the verdict is based on, such as `step`. */
  readonly period: string | undefined;
  /** Periods after the warm-up. */
  readonly periods: number;
  /** Tensors added per period. */
  readonly countPerPeriod: number;
  /** Bytes added per period. */
  readonly bytesPerPeriod: number;
}

/** Tensors alive at the end of a run, or so far, and which of them grow. */
export interface LeakReport {
  /** Number of periods of each kind, in the order in which they first occurred. */
  readonly periods: readonly { readonly kind: string; readonly count: number }[];
  /** Number of live tensors, as `tf.memory()` counts them. */
  readonly count: number;
  /** Bytes of live tensors. Unlike in `tf.memory()`, two tensors with one `DataId` count once. */
  readonly bytes: number;
  /** All allocation sites. Growing sites come first. */
  readonly makers: readonly LeakMaker[];
  /**
   * Other growth of the process, if it can be measured: JavaScript's heap, arrays that do not belong to a tensor,
   * memory that allocators keep.
   */
  readonly process: readonly ProcessGrowth[];
  /**
   * True if JavaScript collects the data of lost tensors together with their objects, as on the cpu backend. Lost
   * tensors then count but use no memory.
   */
  readonly collectsLost: boolean;
  /**
   * Upper limit of the backend's memory on any machine, such as 4 GiB on wasm. Left out if the backend has no such
   * limit.
   */
  readonly mostBytes?: number;
  /**
   * How many tensors outlived a period, and for how many of them the stack was taken: for all, or for a random part of
   * each kind.
   */
  readonly stacks: { readonly taken: number; readonly outlived: number };
  /** Duration of the watch. */
  readonly elapsedMs: number;
}

/** Returns the allocation sites whose live memory grows. */
export function growing({ makers }: Pick<LeakReport, "makers">): readonly LeakMaker[] {
  return makers.filter(({ verdict }) => verdict === "growing");
}

const found: ReadonlySet<string> = new Set(["repeat", "second"]);

/**
 * Returns the program's own periods. If there are none, returns the periods that were detected from repetition or time.
 *
 * @internal
 */
export function ofProgram(periods: LeakReport["periods"]): LeakReport["periods"] {
  const own = periods.filter(({ kind }) => !found.has(kind));
  return own.length > 0 ? own : periods;
}
