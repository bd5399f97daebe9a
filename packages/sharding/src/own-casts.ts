import { packetOf, rmsNormPackets, softmaxPackets } from "@remat/runtime-estimator/aten";
import { Category, type OpIndex, Phase, type StorageIndex, type Trace } from "@remat/trace";

/**
 * A computation for which a model's own code casts to float32 and back. `norm` is normalization by the root mean
 * square, written as single ops. `softmax` is the softmax of attention written as single ops. `loss` is the input of
 * the loss's softmax, which stays in float32.
 */
export type OwnCast = "norm" | "softmax" | "loss";
export const ownCastKinds: readonly OwnCast[] = ["norm", "softmax", "loss"];

/** Ops that compute in float32 although their inputs are in a lower dtype. */
export interface FloatIslands {
  /**
   * For each op, 1 if it computes in float32 and its result is passed on in the lower dtype, 2 if its result stays
   * wide, and 0 otherwise.
   */
  readonly isWide: Uint8Array;
  /** Casts that are assumed, although the trace does not show them. */
  readonly assumed: readonly OwnCast[];
  /** Casts that are possible and assumed not to happen, although the trace does not show that. */
  readonly possible: readonly OwnCast[];
  /** True if the run has `rms_norm` of single ops, for which CUDA has a fused kernel. */
  readonly hasUnfusedNorm: boolean;
  /**
   * The first softmax of an attention that PyTorch computes by matrix products, because it has no kernel for the dtype,
   * mask or heads. -1 if none exists.
   */
  readonly unfusedAttention: number;
}

/**
 * Returns the ops that compute in float32 under a lower dtype: PyTorch's `rms_norm` of single ops (it adds its epsilon
 * in place), and the casts of the model's code.
 *
 * A run in float32 does not show casts of the code. By default, code that writes normalization as single ops is assumed
 * to cast for the normalization and for its softmax, as the code of Llama and T5 does.
 *
 * @param told the casts of the model's code, if known
 */
export function floatIslands(trace: Trace, told: readonly OwnCast[] | undefined): FloatIslands {
  const isWide = new Uint8Array(trace.ops.count);
  const norms = normsOf(trace);
  const byHand = norms.filter(({ isOfPyTorch }) => !isOfPyTorch);
  const taken = told ?? (byHand.length > 0 ? ["norm", "softmax"] : []);
  for (const { ops, isOfPyTorch } of norms)
    if (isOfPyTorch || taken.includes("norm")) for (const op of ops) isWide[op] = 1;
  const present = new Set<OwnCast>(byHand.length > 0 ? ["norm"] : []);
  let unfusedAttention = -1;
  for (let op = 0; op < trace.ops.count; op++) {
    if (!runsForward(trace, op)) continue;
    const name = packetOf(trace.opName(op));
    if (name === softmaxPackets.attention) present.add("softmax");
    if (name === softmaxPackets.attention && taken.includes("softmax")) isWide[op] = 1;
    if (name === softmaxPackets.loss) present.add("loss");
    if (name === softmaxPackets.unfusedAttention && unfusedAttention < 0) unfusedAttention = op;
    if (name === softmaxPackets.loss && taken.includes("loss")) isWide[op] = 2;
  }
  const open = told === undefined ? ownCastKinds.filter((kind) => present.has(kind)) : [];
  const assumed = open.filter((kind) => taken.includes(kind));
  const possible = open.filter((kind) => !taken.includes(kind));
  return { isWide, assumed, possible, hasUnfusedNorm: byHand.length < norms.length, unfusedAttention };
}

/**
 * Returns the casts of a model's code that a run in the lower dtype shows: each kind with an op whose input is float32.
 *
 * @param low a run whose weights are in the lower dtype
 */
export function ownCastsIn(low: Trace): readonly OwnCast[] {
  const isGivenWide = (op: OpIndex): boolean => low.tensorDtype(low.opInputs(op)[0]) === "float32";
  const shown = new Set<OwnCast>();
  if (normsOf(low).some(({ ops: [square], isOfPyTorch }) => !isOfPyTorch && isGivenWide(square))) shown.add("norm");
  for (let op = 0; op < low.ops.count; op++) {
    if (!runsForward(low, op)) continue;
    const name = packetOf(low.opName(op));
    if (name === softmaxPackets.attention && isGivenWide(op)) shown.add("softmax");
    if (name === softmaxPackets.loss && isGivenWide(op)) shown.add("loss");
  }
  return ownCastKinds.filter((kind) => shown.has(kind));
}

interface Norm {
  readonly ops: readonly number[];
  readonly isOfPyTorch: boolean;
}

/**
 * Returns the occurrences of `x * rsqrt(mean(x²) + ε)`: square, mean, sum, root and product. Each op is found as the
 * one that created the input of the next.
 */
function normsOf(trace: Trace): readonly Norm[] {
  const maker = new Int32Array(trace.storages.count).fill(-1);
  const norms: Norm[] = [];
  const open = new Map<number, { ops: number[]; isOfPyTorch: boolean; result: number }>();
  for (let op = 0; op < trace.ops.count; op++) {
    const inputs = Array.from(trace.opInputs(op), (tensor) => trace.tensors.storage[tensor]);
    if (runsForward(trace, op)) {
      const name = packetOf(trace.opName(op));
      const [given] = inputs;
      if (rmsNormPackets.root.test(name)) {
        const ops = rootOf(trace, maker, op, given);
        const [root] = trace.opOutputs(op);
        if (ops !== undefined)
          open.set(trace.tensors.storage[root], { ops, isOfPyTorch: maker[given] === ops[1], result: -1 });
      } else if (rmsNormPackets.product.test(name)) {
        const root = inputs.find((storage) => open.has(storage));
        const norm =
          root === undefined ? [...open.values()].find(({ result }) => inputs.includes(result)) : open.get(root);
        const [product] = trace.opOutputs(op);
        if (norm !== undefined && root !== undefined && norm.result < 0 && isBeside(trace, op, norm.ops[0])) {
          norm.ops.push(op);
          norm.result = trace.tensors.storage[product];
          norms.push(norm);
        } else if (norm !== undefined && root === undefined) {
          // PyTorch's own norm includes the weight in the product and casts the result. Code that adds one to its
          // weight does the same.
          const shift = norm.isOfPyTorch ? undefined : shiftOf(trace, maker, inputs, norm);
          if (isBeside(trace, op, norm.ops[0]) && (norm.isOfPyTorch || shift !== undefined))
            norm.ops.push(...(shift === undefined ? [] : [shift]), op);
          for (const [key, each] of open) if (each === norm) open.delete(key);
        }
      }
    }
    for (const tensor of trace.opOutputs(op)) {
      const storage = trace.tensors.storage[tensor];
      if (maker[storage] < 0) maker[storage] = op;
    }
  }
  return norms;
}

/**
 * Returns the op that adds a scalar to the weight of a normalized product, as Gemma's code does. Returns undefined if
 * there is none.
 */
function shiftOf(
  trace: Trace,
  maker: Int32Array,
  inputs: readonly number[],
  { ops, result }: { ops: readonly number[]; result: number },
): number | undefined {
  const by = maker[inputs.find((storage) => storage !== result) ?? -1] ?? -1;
  if (by < 0 || !rmsNormPackets.sum.test(packetOf(trace.opName(by))) || !isBeside(trace, by, ops[0])) return undefined;
  const isOfWeights = Array.from(trace.opInputs(by)).every(
    (tensor) => trace.storages.category[trace.tensors.storage[tensor]] === Category.parameter,
  );
  return isOfWeights ? by : undefined;
}

/** Returns the ops from the square to `root`, if `root` is the reciprocal root of a mean of squares. */
function rootOf(trace: Trace, maker: Int32Array, root: number, given: number): number[] | undefined {
  const made = (storage: StorageIndex, names: RegExp): number => {
    const op = storage === undefined ? -1 : maker[storage];
    return op >= 0 && names.test(packetOf(trace.opName(op))) && isBeside(trace, op, root) ? op : -1;
  };
  const inputOf = (op: OpIndex): number => trace.tensors.storage[trace.opInputs(op)[0]];
  const sum = made(given, rmsNormPackets.sum);
  const mean = made(sum < 0 ? given : inputOf(sum), rmsNormPackets.mean);
  if (mean < 0) return undefined;
  const square = made(inputOf(mean), rmsNormPackets.square);
  return square < 0 ? undefined : [square, mean, ...(sum < 0 ? [] : [sum]), root];
}

/** Returns whether two ops run in the same call. */
function isBeside(trace: Trace, a: number, b: number): boolean {
  return trace.opCalls(a).at(-1) === trace.opCalls(b).at(-1);
}

function runsForward(trace: Trace, op: OpIndex): boolean {
  const phase = trace.ops.phase[op];
  return phase === Phase.forward || phase === Phase.recompute;
}
