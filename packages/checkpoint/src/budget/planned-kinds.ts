import { isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/**
 * Passes that are being planned or cannot be planned, each given by its sequence of ops. Follows a pass while its ops
 * match one of them.
 * @internal
 */
export class PlannedKinds {
  /** Fingerprints of these sequences. */
  readonly fingerprints: Set<string> = new Set();
  /** The sequence that the current pass follows. Undefined if it follows none. */
  private ops: OpSequence | undefined;
  private run = 0;

  get isFollowed(): boolean {
    return this.ops !== undefined;
  }

  /** Starts a pass that begins with these ops. */
  begin(ops: OpSequence | undefined): void {
    this.ops = ops;
    this.run = 0;
  }

  /** Follows an op. Returns whether the op shows that the pass differs from the sequence. */
  hasLeft(op: RunOp): boolean {
    if (this.ops === undefined || isOpAt(this.ops, this.run++, op)) return false;
    this.ops = undefined;
    return true;
  }
}
