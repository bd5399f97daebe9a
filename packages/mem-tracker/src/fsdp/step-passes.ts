import { EventKind, Phase, type Trace } from "@remat/trace";

/** Which of a step's backward passes an op is in: after the last comes an update, or nothing, before the model runs again. @internal */
export class StepPasses {
  /** By op: 1 where the root runs again before the next update. */
  private readonly hasMore: Uint8Array;
  /** How many steps the run has: updates after a forward pass, at least one. */
  readonly steps: number;

  constructor({ ops, events, moduleEvents, calls }: Trace, root: number) {
    this.hasMore = new Uint8Array(ops.count);
    let hasMore = 0;
    let steps = 0;
    let isUpdate = false;
    for (let i = events.count - 1; i >= 0; i--) {
      const subject = events.subject[i];
      if (events.kind[i] === EventKind.op) {
        this.hasMore[subject] = hasMore;
        if (ops.phase[subject] !== Phase.optimizer) continue;
        hasMore = 0;
        if (!isUpdate) steps++;
        isUpdate = true;
      } else if (
        events.kind[i] === EventKind.enterModule &&
        moduleEvents.phase[subject] === Phase.forward &&
        calls.module[moduleEvents.call[subject]] === root
      ) {
        hasMore = 1;
        isUpdate = false;
      }
    }
    this.steps = Math.max(1, steps);
  }

  isLastBackward(op: number): boolean {
    return this.hasMore[op] !== 1;
  }
}
