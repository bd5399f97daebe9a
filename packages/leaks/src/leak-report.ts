import type { GrowthVerdict } from "@remat/memory/growth";
import type { LineEstimate } from "./line-estimate.js";
import type { ProcessGrowth } from "./process-growth.js";

/** How tensors came to outlive their period. */
export type LeakOrigin =
  /** A variable of a model. */
  | "model"
  /** A slot of an optimizer: a variable that it made. */
  | "optimizer"
  /** A tensor of an optimizer that is not a slot, such as a rate. */
  | "constant"
  | "variable"
  /** By `tf.keep`. */
  | "kept"
  /** By an iterator of tfjs-data. */
  | "iterator"
  /** Returned out of a `tidy`, or by a function of TensorFlow.js that has one. */
  | "returned"
  /** Made outside every `tidy`. */
  | "outside"
  /** No tensor: what `data` or `dataSync` gave. */
  | "values";

/** A line that may have made tensors whose own line is not known. */
export interface PossibleLine {
  readonly line: string;
  /** The part of the definitely lost tensors of this kind that the line made, estimated. Left out if none are lost, or if too few of their stacks were taken. */
  readonly share?: number;
}

/** How many tensors of these kinds (op, dtype, shape) one line made, if only a random part of their stacks was taken; all of them if the line is not known. */
export interface LineEstimates {
  /** Of all that are alive now. */
  readonly alive: LineEstimate;
  /** Of those that the last census found lost, and of those that it found held. */
  readonly lost: LineEstimate;
  readonly held: LineEstimate;
}

/** Tensors that one line has made by one op and that are still alive. */
export interface LeakMaker {
  /** `file:line:column`; undefined if no line of the user's was on the stack, or if the stacks that were taken do not tell which line it is. */
  readonly line: string | undefined;
  /** Lines of the same op and shape between which the stacks do not decide, the likeliest first if that is known; left out if `line` is known. */
  readonly lines?: readonly PossibleLine[];
  /** The function of a library that made them, if no line of the user's was on the stack. */
  readonly within?: string;
  /** As `tf.…` names it: `add`, `tensor`, `variable`. */
  readonly op: string;
  /** Some of their shapes with their dtype: `float32 [32,10]`. */
  readonly shapes: readonly string[];
  /** Some of the layers that ran when they were made, where that is told. */
  readonly modules: readonly string[];
  /** Names of some variables. */
  readonly names: readonly string[];
  readonly origin: LeakOrigin;
  /** What returned them, where that is told: `tidy`, `minimize`, `predict`. */
  readonly returnedBy: string | undefined;
  readonly count: number;
  readonly bytes: number;
  /** 95% confidence intervals, if counts are estimated from a random part of the tensors; left out if they are exact, and of values. */
  readonly estimates?: LineEstimates;
  /** Of `count`: how many have no tensor object any more, and how many have; both 0 where nothing tells. */
  readonly lost: number;
  readonly held: number;
  readonly verdict: GrowthVerdict;
  /** The kind of period by which it was judged, how many after the warm-up, and the growth in each. */
  readonly period: string | undefined;
  readonly periods: number;
  readonly countPerPeriod: number;
  readonly bytesPerPeriod: number;
}

/** What is alive at the end of a run, or until now, and what of it grows. */
export interface LeakReport {
  /** Of each kind, in the order in which they came. */
  readonly periods: readonly { readonly kind: string; readonly count: number }[];
  /** Alive now, as `tf.memory()` counts: two tensors on one `DataId` are its bytes once here. */
  readonly count: number;
  readonly bytes: number;
  /** What grows first, by bytes. */
  readonly makers: readonly LeakMaker[];
  /** What else of the process grows, where that can be told: JavaScript's heap, arrays that are no tensor's, what allocators keep. */
  readonly process: readonly ProcessGrowth[];
  /** Whether JavaScript collects the data of lost tensors with their objects, as on the cpu backend: then they are no memory, but a count. */
  readonly collectsLost: boolean;
  /** The most bytes that the backend can allocate, however much the machine has, such as 4 GiB on wasm; left out if it has no such limit. */
  readonly mostBytes?: number;
  /** How many of the tensors that outlived a period had their stack taken: all, or a random part of each kind. */
  readonly stacks: { readonly taken: number; readonly outlived: number };
  readonly elapsedMs: number;
}

/** Returns what of a report grows. */
export function growing({ makers }: Pick<LeakReport, "makers">): readonly LeakMaker[] {
  return makers.filter(({ verdict }) => verdict === "growing");
}

const found: ReadonlySet<string> = new Set(["repeat", "second"]);

/** Returns the periods that the program has of itself; those that were made out, by what it repeats or by time, where it has no other. @internal */
export function ofProgram(periods: LeakReport["periods"]): LeakReport["periods"] {
  const own = periods.filter(({ kind }) => !found.has(kind));
  return own.length > 0 ? own : periods;
}
