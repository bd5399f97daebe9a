import { Phase } from "@remat/trace";
import { Act } from "./act.js";

/** The backward pass that reads each saved tensor, and its last read. @internal */
export interface BackwardPasses {
  /** For each place in the script where a saved tensor is read, the backward pass that reads it, or -1 elsewhere. */
  readonly passAt: Int32Array;
  /**
   * For each place, the saves whose last read in their backward pass comes right before it, although autograd keeps
   * them for another pass (`retain_graph`).
   */
  readonly readUntil: ReadonlyMap<number, readonly number[]>;
}

/**
 * Separates the backward passes of a step, and finds when each has finished with the saved tensors that it reads, if
 * autograd keeps them for another pass (`backward(retain_graph=True)`). A pass reads each saved tensor once, and the
 * program computes between two passes. A node has finished with its saved tensors when the next node reads some.
 *
 * @internal
 */
export function readBackwardPasses({
  act,
  subject,
  phaseOf,
}: {
  readonly act: readonly number[];
  readonly subject: readonly number[];
  readonly phaseOf: Uint8Array;
}): BackwardPasses {
  const passAt = new Int32Array(act.length).fill(-1);
  const readUntil = new Map<number, number[]>();
  const isRead = new Set<number>();
  /** The saves that the current node has read, and whether it has run an op since. */
  let reading: number[] = [];
  let hasRun = false;
  /** For each save, the node that read it last, and the place where that node ended. */
  const readers = new Map<number, { readonly node: number; readonly end: number }>();
  let nodes = 0;
  let pass = 0;
  const endNode = (at: number): void => {
    nodes++;
    if (reading.length > 0) {
      readUntil.set(at, reading);
      for (const save of reading) readers.set(save, { node: nodes, end: at });
    }
    reading = [];
    hasRun = false;
  };
  const giveBack = (save: number): void => {
    reading = reading.filter((each) => each !== save);
    const reader = readers.get(save);
    // A node that reads its saved tensors one after the other releases all of them at its end.
    if (reader === undefined || nodes - reader.node > 1) return;
    const left = (readUntil.get(reader.end) ?? []).filter((each) => each !== save);
    if (left.length > 0) readUntil.set(reader.end, left);
    else readUntil.delete(reader.end);
  };
  for (let at = 0; at < act.length; at++) {
    const item = subject[at];
    if (act[at] === Act.op) {
      hasRun = true;
      if (phaseOf[item] === Phase.backward) continue;
      endNode(at);
      if (isRead.size > 0) pass++;
      isRead.clear();
    } else if (act[at] === Act.unsave) giveBack(item);
    else if (act[at] === Act.unpack) {
      if (hasRun) endNode(at);
      if (isRead.has(item)) {
        pass++;
        isRead.clear();
      }
      isRead.add(item);
      reading.push(item);
      passAt[at] = pass;
    }
  }
  endNode(act.length);
  return { passAt, readUntil };
}
