import type { SequenceGraph } from "./sequence-graph.js";

/** Memory while a sequence runs. */
export interface SequenceMemory {
  /** The highest memory in use at any step, in bytes. */
  readonly peakBytes: number;
  /** The first step at which the peak is reached. */
  readonly peakStep: number;
  /** Bytes in use at each step, including the workspace of its node. */
  readonly heldBytes: Float64Array;
}

/** Returns the node that a step of a sequence runs or reloads. */
export const nodeAt = (sequence: ArrayLike<number>, step: number): number =>
  sequence[step] < 0 ? ~sequence[step] : sequence[step];

/**
 * Visits the lives of values in a sequence of nodes. A life lasts from the step `from` that creates the value to the
 * step `to` of its last reader before it is recomputed or reloaded. If no step reads the value, `to` is `from`. The
 * last life of a result lasts to the end, `sequence.length`. This rule defines the memory of a sequence, and everything
 * else follows from it. A step that reloads a node is `~node`: it reads nothing and creates the outputs of the node.
 *
 * @returns true if the sequence can run: no step reads a value that no earlier step has created
 */
export function forEachLife(
  graph: SequenceGraph,
  sequence: ArrayLike<number>,
  visit: (value: number, from: number, to: number) => void,
): boolean {
  const { inputs, outputs, result, valueCount } = graph;
  const { length } = sequence;
  const madeAt = new Int32Array(valueCount).fill(-1);
  const lastRead = new Int32Array(valueCount);
  let canRun = true;
  for (let step = 0; step < length; step++) {
    const isReload = sequence[step] < 0;
    const v = nodeAt(sequence, step);
    for (let i = inputs.start[v]; i < inputs.start[v + 1] && !isReload; i++) {
      const value = inputs.values[i];
      if (madeAt[value] < 0) canRun = false;
      lastRead[value] = step;
    }
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      const value = outputs.values[i];
      if (isReload && madeAt[value] < 0) canRun = false;
      if (madeAt[value] >= 0) visit(value, madeAt[value], lastRead[value]);
      madeAt[value] = step;
      lastRead[value] = step;
    }
  }
  for (let value = 0; value < valueCount; value++)
    if (madeAt[value] >= 0) visit(value, madeAt[value], result[value] === 1 ? length : lastRead[value]);
  return canRun;
}

/**
 * Returns the bytes in use at each step of `sequence`, and the peak. The sequence consists of node indices. A node may
 * occur any number of times, and `~node` reloads the offloaded output of a node. Returns undefined if a step reads or
 * reloads a value that no earlier step has made. An offloaded value uses device memory until its copy ends.
 *
 * @example
 * holdSequence(graph, [0, 1, 2, 0, 3])?.peakBytes;
 */
export function holdSequence(graph: SequenceGraph, sequence: ArrayLike<number>): SequenceMemory | undefined {
  const sums = new LifeSums(graph, sequence.length);
  return forEachLife(graph, sequence, sums.add) ? sums.memory(sequence) : undefined;
}

/** Computes the memory in use at each step from the lives of values. All such sums are computed here. */
export class LifeSums {
  private readonly graph: SequenceGraph;
  private readonly born: Float64Array;
  private readonly gone: Float64Array;

  constructor(graph: SequenceGraph, length: number) {
    this.graph = graph;
    this.born = new Float64Array(length);
    this.gone = new Float64Array(length + 1);
  }

  readonly add = (value: number, from: number, to: number): void => {
    this.born[from] += this.graph.bytes[value];
    this.gone[to] += this.graph.bytes[value];
  };

  /**
   * Visits each step with the memory in use while it runs, and the memory left after the last readers of values are
   * done.
   */
  forEachStep(sequence: ArrayLike<number>, visit: (step: number, heldBytes: number, leftBytes: number) => void): void {
    const { born, gone } = this;
    const { workspaceBytes, baseBytes } = this.graph;
    const { length } = sequence;
    let held = baseBytes;
    for (let step = 0; step < length; step++) {
      held += born[step];
      const now = held + (sequence[step] < 0 ? 0 : workspaceBytes[sequence[step]]);
      held -= gone[step];
      visit(step, now, held);
    }
  }

  memory(sequence: ArrayLike<number>): SequenceMemory {
    const heldBytes = new Float64Array(sequence.length);
    let peakBytes = this.graph.baseBytes;
    let peakStep = 0;
    this.forEachStep(sequence, (step, now) => {
      heldBytes[step] = now;
      if (now > peakBytes) {
        peakBytes = now;
        peakStep = step;
      }
    });
    return { peakBytes, peakStep, heldBytes };
  }
}

/** Returns for each step of a sequence the values that are freed after it, in ascending order. */
export function valuesFreedAfter(graph: SequenceGraph, sequence: ArrayLike<number>): number[][] {
  const gone: number[][] = Array.from({ length: sequence.length + 1 }, () => []);
  forEachLife(graph, sequence, (value, _from, to) => void gone[to].push(value));
  gone.pop();
  for (const values of gone) values.sort((a, b) => a - b);
  return gone;
}

/**
 * Returns for each step of a sequence the values that are offloaded after it. A value that is reloaded later is
 * offloaded at the end of the life before its first reload. The offloaded values are also among those of
 * `valuesFreedAfter`.
 */
export function valuesOffloadedAfter(graph: SequenceGraph, sequence: ArrayLike<number>): ReadonlyMap<number, number[]> {
  const offloaded = new Map<number, number[]>();
  const { length } = sequence;
  const endOfLife = new Int32Array(graph.valueCount).fill(-1);
  const isOnHost = new Uint8Array(graph.valueCount);
  forEachLife(graph, sequence, (value, from, to) => {
    if (sequence[from] < 0 && isOnHost[value] === 0) {
      isOnHost[value] = 1;
      const step = endOfLife[value];
      offloaded.set(step, [...(offloaded.get(step) ?? []), value]);
    }
    endOfLife[value] = Math.min(to, length - 1);
  });
  for (const values of offloaded.values()) values.sort((a, b) => a - b);
  return offloaded;
}
