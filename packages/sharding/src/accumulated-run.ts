import { readMemoryEvents } from "@remat/memory";
import { Category, EventKind, type OpIndex, Phase, type StorageIndex, type Trace } from "@remat/trace";
import { EventCopy } from "./event-copy.js";
import { planError } from "./sharding-plan.js";

/** As many as fit into a few GB. */
const mostEvents = 2 ** 24;

/**
 * Returns a run whose steps each take several micro-batches: the forward and the backward pass again and again, each of the recorded batch, before the update. Gradients of later passes are added
 * to those of the first, and given back; what else a pass leaves behind, such as its loss, goes before the next.
 *
 * @param passes how many, at least 1
 * @throws RematError `SHARDING_PLAN` for a run that accumulates already
 * @example
 * heldPeak(accumulatedRun(trace, 4)).peakBytes; // of a step that adds up the gradients of four batches
 */
export function accumulatedRun(trace: Trace, passes: number): Trace {
  if (passes === 1) return trace;
  if (trace.events.count * passes > mostEvents)
    throw planError(
      `${passes} micro-batches of a step of ${trace.events.count} events are more than are simulated (${mostEvents} events). Use ${Math.max(1, Math.floor(mostEvents / trace.events.count))} or fewer.`,
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
  /** Events: the first of the forward pass, and the first after the backward pass. */
  readonly begin: number;
  readonly end: number;
}

/** Where forward and backward passes are: from where the outermost module begins to what comes after the last op of the backward pass. */
function passesOf(trace: Trace): readonly Pass[] {
  const { header, ops, moduleEvents, calls } = trace;
  const found: Pass[] = [];
  let begin = -1;
  let end = -1;
  const close = (): void => {
    if (begin >= 0 && end > begin) found.push({ begin, end });
    begin = end = -1;
  };
  // What an op leaves to be done belongs to its pass.
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
            `the run of '${header.model ?? "a model"}' has several backward passes in a step already; micro-batches= is for one that was recorded with one.`,
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
  /** Gradients of the passes before, by storage of the source, to which those of this pass are added. */
  private held: ReadonlyMap<number, number> = new Map();
  /** Gradients that are made as such, to be added once the op is over. */
  private readonly accumulating: number[] = [];

  /** What is allocated between two events and alive after them: gradients of parameters, and others. */
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

  /** Adds a gradient to that of the passes before, and gives it back. */
  private accumulate(storage: StorageIndex): void {
    const name = this.trace.header.framework === "pytorch" ? "aten.add_.Tensor" : "Add";
    this.extraOp(name, Phase.backward, [
      { storage: this.held.get(storage)!, like: storage },
      { storage: this.storageFor[storage], like: storage },
    ]);
    this.free(storage);
  }
}
