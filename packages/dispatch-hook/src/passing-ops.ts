import { Op } from "./op.js";

/**
 * Objects for ops that nobody keeps, used again and again: one for each op that runs within another, as those do that a mode replays before an op or after it.
 *
 * @internal
 */
export class PassingOps {
  private readonly ops: Op[] = [];
  private running = 0;

  /** Returns one for the op that is to begin. */
  take(): Op {
    const at = this.running++;
    this.ops[at] ??= new Op();
    return this.ops[at];
  }

  /** The op that was taken last is over. */
  giveBack(): void {
    this.ops[--this.running].end();
  }
}
