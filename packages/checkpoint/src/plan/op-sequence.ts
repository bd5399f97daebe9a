import type { OpDone } from "@remat/dispatch-hook";
import { fingerprintOf, type Occurrence, Phase, type Rows, type TensorType, type Trace } from "@remat/trace";

/**
 * The ops of a step in columns: what tells whether another step runs the same. A plan names all ops in their order, so the module call and the ordinal in it
 * follow from where an op stands.
 *
 * @internal
 */
export interface OpSequence {
  readonly count: number;
  /** Kernels and dtypes. */
  readonly names: readonly string[];
  /** By op, of `names`. */
  readonly kernel: Int32Array;
  /** By op, {@link Phase}. */
  readonly phase: Uint8Array;
  /** By op, what it makes, of the types below. */
  readonly outputs: Rows;
  /** By type, of `names`. */
  readonly dtype: Int32Array;
  /** By type. */
  readonly shape: Rows<Float64Array>;
}

/** Copies the ops of a trace: its tensors are the types. @internal */
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

/** Copies the ops of a trace's forward passes, which stock and early release have in common, and no types but theirs. @internal */
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
    outputs: { start: outputs.start, values: Int32Array.from(outputs.values) },
    dtype: tensors.dtype.slice(0, typeCount),
    shape: {
      start: tensors.shape.start.slice(0, typeCount + 1),
      values: tensors.shape.values.slice(0, tensors.shape.start[typeCount]),
    },
  };
}

const rowAt = ({ start, values }: Rows, row: number): number[] => [...values.subarray(start[row], start[row + 1])];

/** @internal */
export function sequenceOfOccurrences(ops: readonly Occurrence[]): OpSequence {
  const names = new Map<string, number>();
  const idOf = (name: string): number => names.get(name) ?? (names.set(name, names.size), names.size - 1);
  const types: TensorType[] = [];
  const typeOf = new Map<TensorType, number>();
  const made = ops.map(({ outputs }) =>
    outputs.map((type) => typeOf.get(type) ?? (typeOf.set(type, types.length), types.push(type) - 1)),
  );
  const outputs = rowsOf(made);
  const shape = rowsOf(types.map((type) => type.shape));
  return {
    count: ops.length,
    kernel: Int32Array.from(ops, (op) => idOf(op.kernel)),
    phase: Uint8Array.from(ops, (op) => Phase[op.phase]),
    outputs: { start: outputs.start, values: Int32Array.from(outputs.values) },
    dtype: Int32Array.from(types, (type) => idOf(type.dtype)),
    shape: { start: shape.start, values: Float64Array.from(shape.values) },
    names: [...names.keys()],
  };
}

function rowsOf(lists: readonly (readonly number[])[]): { start: Int32Array; values: number[] } {
  const start = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => (start[i + 1] = start[i] + list.length));
  return { start, values: lists.flat() };
}

/** As much of an op as tells which it is. @internal */
export type RunOp = Pick<OpDone, "kernel" | "phase" | "outputs">;

/** Tells whether an op that has run is the one at a place of a sequence. Asked for every op of every step: no object is made. @internal */
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

/** Returns a hash that sequences of the same ops share, and others almost surely do not. @internal */
export function fingerprintOfSequence(sequence: OpSequence): string {
  const { count, names, kernel, phase, outputs, dtype, shape } = sequence;
  const hashes = new Int32Array(names.length);
  // Names are spelled once.
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
      // No length is this.
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

/** Two lanes of multiply and xor, as in `fingerprintOf`; in a loop without calls, since a step of 60,000 ops waits for it. */
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
