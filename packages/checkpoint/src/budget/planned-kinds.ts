import { isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/** The kinds of passes for which a plan is being made, or cannot be. Follows a pass of one as long as its ops are those of its kind. @internal */
export class PlannedKinds {
  /** Their fingerprints. */
  readonly fingerprints: Set<string> = new Set();
  /** Undefined if the pass that runs is of no such kind. */
  private ops: OpSequence | undefined;
  private run = 0;

  get isFollowed(): boolean {
    return this.ops !== undefined;
  }

  /** The pass begins as one with these ops. */
  begin(ops: OpSequence | undefined): void {
    this.ops = ops;
    this.run = 0;
  }

  /** An op has run. Returns whether it shows that the pass is of another kind. */
  hasLeft(op: RunOp): boolean {
    if (this.ops === undefined || isOpAt(this.ops, this.run++, op)) return false;
    this.ops = undefined;
    return true;
  }
}
