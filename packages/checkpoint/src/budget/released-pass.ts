import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { StoredBuffer } from "../executor/stored-data.js";
import { isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/** A pass that needed no room made for it, and the bytes that early release holds in it beyond what is there when it begins: at most, and at most between two ops. @internal */
export interface RoomyPass {
  readonly ops: OpSequence;
  readonly addedBytes: number;
  readonly addedBetweenBytes: number;
}

/**
 * Watches a pass that keeps its budget by early release alone: nothing is noted, evicted or recomputed as long as its ops are those that were recorded.
 *
 * @internal
 */
export class ReleasedPass implements Policy {
  readonly pass: RoomyPass;
  readonly watchesOnly: boolean = true;
  hasLeft = false;
  private ledger: Ledger | undefined;
  private op = 0;

  constructor(pass: RoomyPass) {
    this.pass = pass;
  }

  get ops(): OpSequence {
    return this.pass.ops;
  }

  beginsWith(op: RunOp): boolean {
    return isOpAt(this.pass.ops, 0, op);
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.op = 0;
    this.hasLeft = false;
  }

  passOver(): void {
    this.ledger = undefined;
  }

  opOver(op: RunOp): void {
    if (!isOpAt(this.pass.ops, this.op++, op)) this.hasLeft = true;
  }

  /** Of the first op, which is noted before it is known what it begins. */
  bufferUnused(buffer: StoredBuffer): void {
    if (buffer.isEvictable) this.ledger?.evict(buffer);
    else this.ledger?.free(buffer);
  }

  replaying(): void {}
}
