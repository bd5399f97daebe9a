import type { KernelAttributes, KernelInputs } from "@remat/kernels";
import { Op } from "./op.js";

/**
 * Objects for ops that nobody keeps, used again and again: one for each op that runs within another, as those do that a mode replays before an op or after it.
 *
 * @internal
 */
export class PassingOps {
  private readonly ops: Op[] = [];
  private running = 0;

  take(
    kernel: string,
    inputs: KernelInputs,
    attributes: KernelAttributes | undefined,
    backend: string,
    phase: number,
    repeats: number | undefined,
  ): Op {
    const at = this.running++;
    const op = this.ops[at];
    if (op === undefined) {
      const made = new Op(kernel, inputs, attributes, backend, phase, undefined, undefined, undefined, repeats);
      this.ops.push(made);
      return made;
    }
    op.begin(kernel, inputs, attributes, backend, phase, repeats);
    return op;
  }

  /** The op that was taken last is over. */
  giveBack(): void {
    this.ops[--this.running].end();
  }
}
