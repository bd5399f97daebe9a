import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { StoredBuffer } from "../executor/stored-data.js";
import { isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/** A pass that fits without evictions. @internal */
export interface RoomyPass {
  readonly ops: OpSequence;
  /** Peak memory under early release, in bytes beyond the start of the pass. */
  readonly addedBytes: number;
  /** The most bytes between two ops, beyond the start of the pass. */
  readonly addedBetweenBytes: number;
}

/**
 * Follows a pass that early release alone keeps within the budget. Nothing is noted, evicted or recomputed while its
 * ops match the recorded ones.
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

  /** Only the first op calls this, because the ledger notes it before it is known which pass this is. */
  bufferUnused(buffer: StoredBuffer): void {
    if (buffer.isEvictable) this.ledger?.evict(buffer);
    else this.ledger?.free(buffer);
  }

  replaying(): void {}
}
