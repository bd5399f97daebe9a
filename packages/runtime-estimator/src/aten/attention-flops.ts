import type { CallArguments } from "./call-arguments.js";

type Shape = readonly number[];

/**
 * Sizes of one fused attention call. `heads` includes the batch. If K and V have fewer heads, these are broadcast over
 * the heads of the query.
 */
interface AttentionSize {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly valueWidth: number;
}

/** Q·Kᵀ and its product with V. As in PyTorch, causal masks save nothing. */
function forwardFlops({ heads, queries, keys, width, valueWidth }: AttentionSize): number {
  return 2 * heads * queries * keys * (width + valueWidth);
}

/** The scores are recomputed, and then the gradients of scores, V, Q and K are computed: five products. */
function backwardFlops({ heads, queries, keys, width, valueWidth }: AttentionSize): number {
  return 2 * heads * queries * keys * (3 * width + 2 * valueWidth);
}

function denseSize(query: Shape, key: Shape, value: Shape): AttentionSize | undefined {
  if (query.length !== 4 || key.length !== 4 || value.length !== 4) return undefined;
  const [batch, heads, queries, width] = query;
  return { heads: batch * heads, queries, keys: key[2], width, valueWidth: value[3] };
}

/**
 * Returns the size of sequences packed one after another, each counted at the maximum length. `cum_seq` has one more
 * entry than there are sequences.
 */
function packedSize(query: Shape, value: Shape, sequences: number, queries: number, keys: number): AttentionSize {
  const heads = query[query.length - 2] * sequences;
  return { heads, queries, keys, width: query[query.length - 1], valueWidth: value[value.length - 1] };
}

function counter(first: number, flops: (size: AttentionSize) => number): (a: CallArguments) => number {
  return (a) => {
    const size = denseSize(a.shape(first, "query"), a.shape(first + 1, "key"), a.shape(first + 2, "value"));
    return size === undefined ? 0 : flops(size);
  };
}

function packedCounter(
  first: number,
  offsets: number,
  names: { readonly offsets: string; readonly maxQueries: string; readonly maxKeys: string },
  flops: (size: AttentionSize) => number,
): (a: CallArguments) => number {
  const dense = counter(first, flops);
  return (a) => {
    const cumulative = a.tensor(offsets, names.offsets);
    if (cumulative === undefined) return dense(a);
    const maxQueries = Number(a.value(offsets + 2, names.maxQueries) ?? 0);
    const maxKeys = Number(a.value(offsets + 3, names.maxKeys) ?? 0);
    const query = a.shape(first, "query");
    return flops(packedSize(query, a.shape(first + 2, "value"), cumulative.shape[0] - 1, maxQueries, maxKeys));
  };
}

const flash = { offsets: "cum_seq_q", maxQueries: "max_q", maxKeys: "max_k" };
const efficient = { offsets: "cu_seqlens_q", maxQueries: "max_seqlen_q", maxKeys: "max_seqlen_k" };

export const attention: (a: CallArguments) => number = counter(0, forwardFlops);
export const attentionBackward: (a: CallArguments) => number = counter(1, backwardFlops);
export const flashForward: (a: CallArguments) => number = packedCounter(0, 3, flash, forwardFlops);
export const flashBackward: (a: CallArguments) => number = packedCounter(1, 6, flash, backwardFlops);
export const efficientForward: (a: CallArguments) => number = packedCounter(0, 4, efficient, forwardFlops);
export const efficientBackward: (a: CallArguments) => number = packedCounter(1, 6, efficient, backwardFlops);
