import { findRepeat } from "@remat/memory/growth";

/** Longer sequences are no step that anybody would wait for. */
const mostOps = 2048;
const firstLook = 6;

/** Finds the periods of a program that has none that are known, by the ops that it repeats. */
export class PeriodFinder {
  private ops: string[] = [];
  private length: number | undefined;
  private left = 0;
  private untilLook = firstLook;

  /** Notes an op; true where a repeated sequence is over with it. */
  opRan(op: string): boolean {
    const { ops } = this;
    ops.push(op);
    if (ops.length > mostOps) ops.splice(0, mostOps / 2);
    if (this.length !== undefined) {
      if (ops.length > this.length && op !== ops[ops.length - 1 - this.length]) this.length = undefined;
      else if (--this.left > 0) return false;
      else {
        this.left = this.length;
        return true;
      }
    }
    if (--this.untilLook > 0) return false;
    this.untilLook = Math.max(2, ops.length >> 3);
    this.length = findRepeat(ops);
    this.left = this.length ?? 0;
    return this.length !== undefined;
  }
}
