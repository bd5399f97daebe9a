import { isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/**
 * The kinds of passes that are being planned or cannot be planned. Follows a pass of such a kind while its ops match.
 * @internal
 */
export class PlannedKinds {
  /** Fingerprints of these kinds. */
  readonly fingerprints: Set<string> = new Set();
  /** Ops of the kind that the current pass follows. Undefined if it follows none. */
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

  /** Follows an op. Returns whether it shows that the pass is of another kind. */
  hasLeft(op: RunOp): boolean {
    if (this.ops === undefined || isOpAt(this.ops, this.run++, op)) return false;
    this.ops = undefined;
    return true;
  }
}
