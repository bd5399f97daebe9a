import { findRepeat } from "@remat/memory/growth";

/** Longer sequences are not considered a step. */
const mostOps = 2048;
const firstLook = 6;

/** Detects the periods of a program from the sequences of ops that it repeats. */
export class PeriodFinder {
  private ops: string[] = [];
  private ran = 0;
  private length: number | undefined;
  private left = 0;
  private untilLook = firstLook;
  private lastLength: number | undefined;
  /** Op counts at which a sequence ended. */
  private ends: number[] = [];

  /**
   * Notes an op. If it completes a repeated sequence, returns how many earlier ones are withdrawn because they were
   * parts of a longer sequence found only now. Otherwise undefined.
   */
  opRan(op: string): number | undefined {
    const { ops } = this;
    ops.push(op);
    this.ran++;
    if (ops.length > mostOps) {
      ops.splice(0, mostOps / 2);
      this.ends = this.ends.filter((at) => at > this.ran - mostOps);
    }
    if (this.length !== undefined) {
      if (ops.length > this.length && op !== ops[ops.length - 1 - this.length]) this.length = undefined;
      else if (--this.left > 0) return undefined;
      else {
        this.left = this.length;
        this.ends.push(this.ran);
        return 0;
      }
    }
    if (--this.untilLook > 0) return undefined;
    this.untilLook = Math.max(2, ops.length >> 3);
    const repeat = findRepeat(ops);
    this.length = repeat?.length;
    this.left = repeat?.length ?? 0;
    if (repeat === undefined) return undefined;
    const known = this.ends.length;
    if (repeat.length !== this.lastLength) this.ends = this.ends.filter((at) => at <= this.ran - repeat.explained);
    const parts = known - this.ends.length;
    this.lastLength = repeat.length;
    this.ends.push(this.ran);
    return parts;
  }
}
