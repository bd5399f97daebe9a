import type { OpDone } from "@remat/dispatch-hook";
import { fingerprintOf, type Occurrence, Phase, type Rows, rowsOf, type TensorType, type Trace } from "@remat/trace";

/**
 * The ops of a step in columns, to check whether another step runs the same ops. A plan lists all ops in order, so an
 * op's module call and ordinal follow from its index.
 *
 * @internal
 */
export interface OpSequence {
  readonly count: number;
  /** Names of kernels and dtypes. */
  readonly names: readonly string[];
  /** Kernel of each op, an index into `names`. */
  readonly kernel: Int32Array;
  /** {@link Phase} of each op. */
  readonly phase: Uint8Array;
  /** Outputs of each op, indices of the tensor types below. */
  readonly outputs: Rows;
  /** Dtype of each tensor type, an index into `names`. */
  readonly dtype: Int32Array;
  /** Shape of each tensor type. */
  readonly shape: Rows<Float64Array>;
}

/** Copies the ops of a trace, whose tensors become the tensor types. @internal */
export function sequenceOfTrace({ ops, tensors, strings }: Trace): OpSequence {
  const copy = <T extends Int32Array | Float64Array>({ start, values }: Rows<T>): Rows<T> => ({
    start: start.slice(),
    values: values.slice() as T,
  });
  return {
    count: ops.count,
    names: strings,
    kernel: ops.name.slice(),
    phase: ops.phase.slice(),
    outputs: copy(ops.outputs),
    dtype: tensors.dtype.slice(),
    shape: copy(tensors.shape),
  };
}

/**
 * Copies the forward ops of a trace, and only their tensor types. Unmodified TensorFlow.js and early release run the
 * same forward ops. @internal
 */
export function forwardSequenceOfTrace(trace: Trace): OpSequence {
  const { ops, tensors, strings } = trace;
  const places: number[] = [];
  for (let op = 0; op < ops.count; op++) if (ops.phase[op] === Phase.forward) places.push(op);
  const outputs = rowsOf(places.map((op) => rowAt(ops.outputs, op)));
  const typeCount = outputs.values.reduce((most, type) => Math.max(most, type + 1), 0);
  return {
    count: places.length,
    names: strings,
    kernel: Int32Array.from(places, (op) => ops.name[op]),
    phase: new Uint8Array(places.length).fill(Phase.forward),
    outputs,
    dtype: tensors.dtype.slice(0, typeCount),
    shape: {
      start: tensors.shape.start.slice(0, typeCount + 1),
      values: tensors.shape.values.slice(0, tensors.shape.start[typeCount]),
    },
  };
}

const rowAt = ({ start, values }: Rows, row: number): number[] => [...values.subarray(start[row], start[row + 1])];

/** Returns the ops of a plan in columns. @internal */
export function sequenceOfOccurrences(ops: readonly Occurrence[]): OpSequence {
  const names = new Map<string, number>();
  const idOf = (name: string): number => names.get(name) ?? (names.set(name, names.size), names.size - 1);
  const types: TensorType[] = [];
  const typeOf = new Map<TensorType, number>();
  const made = ops.map(({ outputs }) =>
    outputs.map((type) => typeOf.get(type) ?? (typeOf.set(type, types.length), types.push(type) - 1)),
  );
  const shapes = types.map((type) => type.shape);
  return {
    count: ops.length,
    kernel: Int32Array.from(ops, (op) => idOf(op.kernel)),
    phase: Uint8Array.from(ops, (op) => Phase[op.phase]),
    outputs: rowsOf(made),
    dtype: Int32Array.from(types, (type) => idOf(type.dtype)),
    shape: { start: rowsOf(shapes).start, values: Float64Array.from(shapes.flat()) },
    names: [...names.keys()],
  };
}

/** The part of an op that identifies it. @internal */
export type RunOp = Pick<OpDone, "kernel" | "phase" | "outputs">;

/**
 * Returns whether an op that has run is the one at index `at`. Runs for every op of every step, so it allocates
 * nothing. @internal
 */
export function isOpAt(ops: OpSequence, at: number, { kernel, phase, outputs }: RunOp): boolean {
  if (at >= ops.count || ops.phase[at] !== phase || ops.names[ops.kernel[at]] !== kernel) return false;
  const first = ops.outputs.start[at];
  if (ops.outputs.start[at + 1] - first !== outputs.length) return false;
  const { start, values } = ops.shape;
  for (let i = 0; i < outputs.length; i++) {
    const type = ops.outputs.values[first + i];
    const { dtype, shape } = outputs[i];
    const from = start[type];
    if (ops.names[ops.dtype[type]] !== dtype || start[type + 1] - from !== shape.length) return false;
    for (let axis = 0; axis < shape.length; axis++) if (values[from + axis] !== shape[axis]) return false;
  }
  return true;
}

/** Returns a hash of a sequence. Sequences of other ops almost surely have other hashes. @internal */
export function fingerprintOfSequence(sequence: OpSequence): string {
  const { count, names, kernel, phase, outputs, dtype, shape } = sequence;
  const hashes = new Int32Array(names.length);
  // Each name is hashed once.
  for (let id = 0; id < hashes.length; id++)
    hashes[id] = Number.parseInt(fingerprintOf([names[id]]).slice(0, 8), 16) | 0;
  const words = new Int32Array(wordCount(sequence));
  let at = 0;
  for (let op = 0; op < count; op++) {
    words[at++] = hashes[kernel[op]];
    words[at++] = phase[op];
    for (let i = outputs.start[op]; i < outputs.start[op + 1]; i++) {
      const type = outputs.values[i];
      words[at++] = hashes[dtype[type]];
      for (let axis = shape.start[type]; axis < shape.start[type + 1]; axis++) words[at++] = shape.values[axis];
      // Ends a shape, since no axis has this length.
      words[at++] = -1;
    }
  }
  return hashOfWords(words);
}

function wordCount({ count, outputs, shape }: OpSequence): number {
  let words = 2 * count;
  for (let i = outputs.start[0]; i < outputs.start[count]; i++) {
    const type = outputs.values[i];
    words += 2 + shape.start[type + 1] - shape.start[type];
  }
  return words;
}

/**
 * Two lanes of multiply and xor, as in `fingerprintOf`. A loop without calls, because a step of 60,000 ops waits for
 * it.
 */
function hashOfWords(words: Int32Array): string {
  let a = 0xdeadbeef | 0;
  let b = 0x41c6ce57;
  for (let i = 0; i < words.length; i++) {
    a = Math.imul(a ^ words[i], 0x9e3779b1);
    a ^= a >>> 15;
    b = Math.imul(b ^ words[i], 0x5f356495);
    b ^= b >>> 13;
  }
  return [a, b].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
