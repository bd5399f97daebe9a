import { reshape, sum, type Tensor, transpose, unsortedSegmentSum, util, zeros } from "@tensorflow/tfjs-core";
import { addsSegmentsInOrder } from "../current-backend.js";
import type { ReplacedGradient } from "./replaced-gradient.js";

/**
 * tfjs cuts dy into its repeats and adds them to zeros one after the other: a `Slice` and an `Add` for each, all of them held to the end. Layer normalization
 * tiles a mean to the width of its layer. Here the repeats are moved to the front, in the order in which tfjs adds them, and are the rows of one
 * `UnsortedSegmentSum` into a single segment.
 *
 * The bits are equal on backends whose kernel adds the rows of a segment one after the other to zeros, as 32-bit numbers (`addsSegmentsInOrder`). That of
 * cpu adds as 64-bit numbers, CUDA's by atomics in any order, those of webgl and webgpu in parts: there tfjs's own function runs, unless `reordered` is asked for, which
 * takes one `Sum`.
 *
 * @internal
 */
export const tileGradient: ReplacedGradient = {
  kernel: "Tile",
  isDifferentiable: false,
  isWanted: ({ fasterGradients }) => fasterGradients !== undefined,
  gradient(dy, [x], attributes, { fasterGradients }) {
    const reps = attributes?.["reps"] as readonly number[];
    const isInOrder = addsSegmentsInOrder();
    // What has no elements, or what tfjs refuses, it shall.
    if (dy.size === 0 || x.rank === 0 || x.rank > 4 || x.dtype !== "float32") return undefined;
    if (!isInOrder && fasterGradients !== "reordered") return undefined;
    return {
      x: () => {
        const count = util.sizeFromShape(reps as number[]);
        const rows = reshape(repeatsFirst(dy, x.shape, reps), [count, x.size]);
        const total = isInOrder ? unsortedSegmentSum(rows as never, zeros([count], "int32"), 1) : sum(rows, 0);
        return reshape(total, x.shape);
      },
    };
  },
};

/** Returns `dy` with the axes along which there are repeats before those of what is repeated, without axes of length 1. */
function repeatsFirst(dy: Tensor, shape: readonly number[], reps: readonly number[]): Tensor {
  const lengths: number[] = [];
  const repeats: number[] = [];
  const repeated: number[] = [];
  shape.forEach((length, axis) => {
    if (reps[axis] !== 1) repeats.push(lengths.push(reps[axis]) - 1);
    if (length !== 1) repeated.push(lengths.push(length) - 1);
  });
  const order = [...repeats, ...repeated];
  const isInOrder = order.every((from, to) => from === to);
  return isInOrder ? dy : transpose(reshape(dy, lengths), order);
}
