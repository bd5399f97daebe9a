import { readMemoryEvents } from "@remat/memory";
import { Category, EventKind, type OpIndex, Phase, type Trace } from "@remat/trace";

/**
 * Finds the backward pass of a step that an op is in. After the last backward pass, there is an update or nothing
 * before the model runs again.
 *
 * @internal
 */
export class StepPasses {
  /** For each op, 1 if the root runs again before the next update. */
  private readonly hasMore: Uint8Array;
  /** The number of steps in the run: updates after a forward pass, at least one. */
  readonly steps: number;

  constructor(trace: Trace, root: number) {
    const { ops, events, moduleEvents, calls } = trace;
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
    const made = firstState(trace);
    this.areStepsBefore = made === undefined ? this.steps === 1 : made === "before";
  }

  /** True if the first step is assumed to follow others, because its optimizer already has its states or keeps none. */
  readonly areStepsBefore: boolean;

  isLastBackward(op: OpIndex): boolean {
    return this.hasMore[op] !== 1;
  }
}

/** Returns whether the first state of a run's optimizer exists before its first op or comes after it. */
function firstState(trace: Trace): "before" | "after" | undefined {
  let now: "before" | "after" = "before";
  let found: "before" | "after" | undefined;
  const take = (category: number): void => {
    if (category === Category.optimizerState) found ??= now;
  };
  readMemoryEvents(trace, {
    op() {
      now = "after";
    },
    allocate: (storage) => take(trace.storages.category[storage]),
    free() {},
    resize() {},
    categorize: (_storage, category) => take(category),
  });
  return found;
}
