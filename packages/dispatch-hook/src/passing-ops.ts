import { Op } from "./op.js";

/**
 * Reusable objects for ops that no mode keeps. There is one for each nesting level, since a mode may replay ops before
 * or after an op.
 *
 * @internal
 */
export class PassingOps {
  private readonly ops: Op[] = [];
  private running = 0;

  /** Returns an object for the op that begins. */
  take(): Op {
    const at = this.running++;
    this.ops[at] ??= new Op();
    return this.ops[at];
  }

  /** Ends the op taken last. */
  giveBack(): void {
    this.ops[--this.running].end();
  }
}
