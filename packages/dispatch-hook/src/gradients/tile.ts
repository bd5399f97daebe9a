import {
  addN,
  reshape,
  sum,
  type Tensor,
  transpose,
  unsortedSegmentSum,
  unstack,
  util,
  zeros,
} from "@tensorflow/tfjs-core";
import { type AddsInOrder, addsInOrder } from "../current-backend.js";
import type { ReplacedGradient } from "./replaced-gradient.js";

/**
 * TensorFlow.js cuts dy into its repeats and adds them to zeros one after the other. This takes a `Slice` and an `Add`
 * for each, all kept to the end. Layer normalization tiles a mean to the width of its layer. Here the repeats are moved
 * to the front, in the order in which TensorFlow.js adds them. They become the rows of one `UnsortedSegmentSum` into a
 * single segment, or the inputs of `AddN`.
 *
 * Results are bitwise identical on backends where one of these adds to zeros one after the other, as 32-bit numbers.
 * `UnsortedSegmentSum` does so on native without a GPU and on wasm. The cpu kernel adds 64-bit numbers, and the CUDA
 * kernel adds by atomics in any order. `AddN` does so on cpu, and on CUDA with up to nine inputs. TensorFlow's CUDA
 * kernel of `AddN` is `in1 + in2 + …`, which nvcc compiles to a chain of `add.ftz.f32`. The kernel of `AddV2`, by which
 * TensorFlow.js adds two tensors, is a `FADD.FTZ` (read from the code for sm_80, sm_89 and sm_90 in TensorFlow 2.21).
 *
 * On webgl, webgpu and third-party backends, both kernels may add in parts. There the original runs. If `reordered` is
 * requested, one `Sum` replaces it if that is shorter.
 *
 * @internal
 */
export const tileGradient: ReplacedGradient = {
  kernel: "Tile",
  isDifferentiable: false,
  isWanted: ({ fasterGradients }) => fasterGradients !== undefined,
  gradient(dy, [x], attributes, { fasterGradients }) {
    const reps = attributes?.["reps"] as readonly number[];
    // The original handles empty tensors and inputs that TensorFlow.js rejects.
    if (dy.size === 0 || x.rank === 0 || x.rank > 4 || x.dtype !== "float32") return undefined;
    const inOrder = addsInOrder();
    const reorders = fasterGradients === "reordered";
    if (!inOrder.segments && inOrder.mostInputs < fewestInputs && !reorders) return undefined;
    return {
      x: () => {
        const count = util.sizeFromShape(reps as number[]);
        const rows = reshape(repeatsFirst(dy, x.shape, reps), [count, x.size]);
        return reshape(addRows(rows, inOrder, reorders), x.shape);
      },
    };
  },
};

/** For two inputs `AddN` is no shorter than `Add`. */
const fewestInputs = 3;

/**
 * Returns the sum of rows, float32[count, size], as float32[1, size] or float32[size]. It adds one after the other in
 * as few kernels as possible. It adds in any order if no kernel adds one after the other, or if reordering is allowed
 * and one kernel cannot add all rows.
 */
function addRows(rows: Tensor, { segments, mostInputs }: AddsInOrder, reorders: boolean): Tensor {
  const [count, size] = rows.shape;
  if (segments) return unsortedSegmentSum(rows as never, zeros([count], "int32"), 1);
  if (mostInputs < fewestInputs || (reorders && count >= mostInputs)) return sum(rows, 0);
  const parts = unstack(rows);
  let total: Tensor = zeros([size]);
  while (parts.length > 0) total = addN([total, ...parts.splice(0, mostInputs - 1)]);
  return total;
}

/** Returns `dy` with the repeated axes first, without axes of length 1. */
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
