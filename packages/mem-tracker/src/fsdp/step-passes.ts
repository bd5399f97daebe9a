import { EventKind, Phase, type Trace } from "@remat/trace";

/** Which of a step's backward passes an op is in: after the last comes an update, or nothing, before the model runs again. @internal */
export class StepPasses {
  /** By op: 1 where the root runs again before the next update. */
  private readonly hasMore: Uint8Array;

  constructor({ ops, events, moduleEvents, calls }: Trace, root: number) {
    this.hasMore = new Uint8Array(ops.count);
    let hasMore = 0;
    for (let i = events.count - 1; i >= 0; i--) {
      const subject = events.subject[i];
      if (events.kind[i] === EventKind.op) {
        this.hasMore[subject] = hasMore;
        if (ops.phase[subject] === Phase.optimizer) hasMore = 0;
      } else if (
        events.kind[i] === EventKind.enterModule &&
        moduleEvents.phase[subject] === Phase.forward &&
        calls.module[moduleEvents.call[subject]] === root
      )
        hasMore = 1;
    }
  }

  isLastBackward(op: number): boolean {
    return this.hasMore[op] !== 1;
  }
}
