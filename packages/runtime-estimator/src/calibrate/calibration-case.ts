import type { Rank, Tensor } from "@tensorflow/tfjs-core";

/** Returns a new tensor of random values between 0.1 and 1. */
export type MakeInput = <R extends Rank = Rank>(...shape: number[]) => Tensor<R>;

/** One or a few ops to measure, on inputs of their own. */
export interface CalibrationCase {
  /** The op and its size, for messages. */
  readonly name: string;
  /** Cases of a kind are in the order of their size. If one takes too long, larger ones are left out. */
  readonly kind: string;
  /** Runs the ops. The caller frees their results. */
  readonly run: (input: MakeInput) => unknown;
}
