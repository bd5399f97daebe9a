import { Phase } from "@remat/trace";
import { Act } from "./act.js";

/** Which backward pass reads what, and how long. @internal */
export interface BackwardPasses {
  /** By place of a step where something saved is read: which backward pass reads it; -1 elsewhere. */
  readonly passAt: Int32Array;
  /** By place: what was read before it for the last time in its backward pass, though autograd keeps it for another (`retain_graph`). */
  readonly readUntil: ReadonlyMap<number, readonly number[]>;
}

/**
 * Tells the backward passes of a step apart, and when each is done with what it reads where autograd keeps that for another: `backward(retain_graph=True)`. A pass reads what is saved once, and the program computes between
 * two; what a node has read is done with when the next one reads.
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
  /** What the node that runs now has read, and whether it has run an op since. */
  let reading: number[] = [];
  let hasRun = false;
  /** By save: the node that read it last, and where that ended. */
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
    // A node that reads one thing after another gives all of it back in the end.
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
