import { readMemoryEvents } from "@remat/memory";
import { Category, EventKind, type OpIndex, Phase, type StorageIndex, type Trace } from "@remat/trace";
import { EventCopy } from "./event-copy.js";
import { planError } from "./sharding-plan.js";

/** The most events of a simulated run. This limit keeps its traces within a few GB. */
const mostEvents = 2 ** 24;

/**
 * Returns a run in which each step takes several micro-batches.
 *
 * A step repeats the forward and backward pass, every time with the recorded batch, and then updates once. Each later
 * pass adds its gradients to those of the first pass, and then frees its own gradients. Anything else that a pass
 * leaves in memory, such as its loss, is freed before the next pass begins.
 *
 * @param passes the number of micro-batches per step, at least 1
 * @throws RematError `SHARDING_PLAN` if the run accumulates gradients already, or if the result would have too many
 * events
 * @example
 * heldPeak(accumulatedRun(trace, 4)).peakBytes; // peak memory of a step that accumulates four micro-batches
 */
export function accumulatedRun(trace: Trace, passes: number): Trace {
  if (passes === 1) return trace;
  if (trace.events.count * passes > mostEvents)
    throw planError(
      `${passes} micro-batches of ${trace.events.count} events each exceed the limit of ${mostEvents} events. Use ${Math.max(1, Math.floor(mostEvents / trace.events.count))} or fewer.`,
    );
  const copy = new AccumulatedCopy(trace, [
    `Simulated with ${passes} micro-batches a step, each of the recorded batch.`,
  ]);
  let from = 0;
  for (const { begin, end } of passesOf(trace)) {
    copy.write(from, end);
    const left = copy.leftBy(begin, end);
    for (let pass = 1; pass < passes; pass++) copy.again(begin, end, left);
    from = end;
  }
  copy.write(from, trace.events.count);
  return copy.build();
}

interface Pass {
  /** The first event of the forward pass, and the first event after the backward pass. */
  readonly begin: number;
  readonly end: number;
}

/**
 * Returns the forward and backward passes of a run. Each begins when the outermost module is entered and ends with the
 * events that follow the last op of its backward pass.
 */
function passesOf(trace: Trace): readonly Pass[] {
  const { header, ops, moduleEvents, calls } = trace;
  const found: Pass[] = [];
  let begin = -1;
  let end = -1;
  const close = (): void => {
    if (begin >= 0 && end > begin) found.push({ begin, end });
    begin = end = -1;
  };
  // Events right after an op, such as frees, belong to the same pass.
  const follow = (event: number): void => {
    if (end === event) end = event + 1;
  };
  readMemoryEvents(trace, {
    op(op, event) {
      const phase = ops.phase[op];
      if (phase === Phase.optimizer) close();
      else if (begin >= 0 && (phase === Phase.backward || phase === Phase.recompute)) end = event + 1;
    },
    free: (_storage, event) => follow(event),
    resize: (_storage, _bytes, event) => follow(event),
    categorize: (_storage, _category, event) => follow(event),
    other(kind, item, _value, event) {
      if (kind === EventKind.enterModule && begins(item)) {
        if (end >= 0)
          throw planError(
            `the run of '${header.model ?? "a model"}' already has several backward passes per step. Record it with one, or remove micro-batches=.`,
          );
        if (begin < 0) begin = event;
      } else if (kind !== EventKind.mark) follow(event);
    },
  });
  close();
  return found;

  function begins(eventRow: number): boolean {
    return calls.parent[moduleEvents.call[eventRow]] < 0 && moduleEvents.phase[eventRow] === Phase.forward;
  }
}

class AccumulatedCopy extends EventCopy {
  /** Gradients of the earlier passes, by storage of the source. This pass adds its own gradients to them. */
  private held: ReadonlyMap<number, number> = new Map();
  /** Storages that the current op allocates as gradients. They are added to the earlier ones once the op is written. */
  private readonly accumulating: number[] = [];

  /**
   * Returns the storages that are allocated between two events and still live after them, and whether each is the
   * gradient of a parameter.
   */
  leftBy(begin: number, end: number): ReadonlyMap<number, "gradient" | "other"> {
    const left = new Map<number, "gradient" | "other">();
    readMemoryEvents(
      this.trace,
      {
        allocate: (storage) =>
          void left.set(storage, this.trace.storages.category[storage] === Category.gradient ? "gradient" : "other"),
        categorize: (storage, category) => {
          if (left.has(storage) && category === Category.gradient) left.set(storage, "gradient");
        },
        free: (storage) => void left.delete(storage),
      },
      begin,
      end,
    );
    return left;
  }

  /** Writes a pass once more. */
  again(begin: number, end: number, left: ReadonlyMap<number, "gradient" | "other">): void {
    const held = new Map<number, number>();
    for (const [storage, kind] of left) {
      if (kind === "gradient") held.set(storage, this.storageFor[storage]);
      else this.free(storage);
    }
    this.callFor.fill(-1);
    this.held = held;
    this.write(begin, end);
    for (const [storage, own] of held) this.storageFor[storage] = own;
    this.held = new Map();
  }

  protected override op(op: OpIndex): void {
    super.op(op);
    for (const storage of this.accumulating.splice(0)) this.accumulate(storage);
  }

  protected override allocate(storage: StorageIndex): void {
    super.allocate(storage);
    if (this.held.has(storage) && this.trace.storages.category[storage] === Category.gradient)
      this.accumulating.push(storage);
  }

  protected override categorize(storage: StorageIndex, category: number): void {
    if (!this.isLive.has(this.storageFor[storage])) return;
    super.categorize(storage, category);
    if (category === Category.gradient && this.held.has(storage)) this.accumulate(storage);
  }

  /** Adds a gradient to the one of the earlier passes, and frees it. */
  private accumulate(storage: StorageIndex): void {
    const name = this.trace.header.framework === "pytorch" ? "aten.add_.Tensor" : "Add";
    this.extraOp(name, Phase.backward, [
      { storage: this.held.get(storage)!, like: storage },
      { storage: this.storageFor[storage], like: storage },
    ]);
    this.free(storage);
  }
}
