import { type OpCall, type OpDone, registeredVariables, type Storage } from "@remat/dispatch-hook";
import { optimizerSlots } from "@remat/mod-tracker";
import { Category } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";

/** Records one step of a program, with the milliseconds that each op takes. */
export class StepRecorder extends TraceRecorder {
  readonly opMs: number[] = [];
  private startedAt = 0;

  constructor(
    sourceLine: () => string | undefined,
    /** The weights have been updated. */
    private readonly updated: (optimizer: object) => void,
  ) {
    super({ outside: false, sourceLine });
  }

  /** When the mode is open: weights, optimizers' slots and what else the program holds are there from the beginning. */
  start(optimizers: Iterable<object>, held: Iterable<Storage>): void {
    const slots = new Set([...optimizers].flatMap(optimizerSlots));
    for (const slot of slots) this.categorizeTensor(slot, Category.optimizerState);
    for (const variable of registeredVariables())
      if (!slots.has(variable))
        this.categorizeTensor(variable, variable.trainable ? Category.parameter : Category.buffer);
    for (const storage of held) this.holdStorage(storage);
  }

  override opStarting(op: OpCall): void {
    super.opStarting(op);
    this.startedAt = performance.now();
  }

  override opDone(op: OpDone): void {
    const ms = performance.now() - this.startedAt;
    super.opDone(op);
    this.opMs.push(ms);
  }

  override optimizerStepDone(optimizer?: object): void {
    super.optimizerStepDone();
    if (optimizer !== undefined) this.updated(optimizer);
  }
}
