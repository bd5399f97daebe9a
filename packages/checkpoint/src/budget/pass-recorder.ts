import { type OpCall, type OpDone, registeredVariables, type Storage, type StorageOrigin } from "@remat/dispatch-hook";
import { Category, gradientsEndMark, gradientsStartMark, type Trace } from "@remat/trace";
import { OpRecorder } from "@remat/tracer";

/**
 * Records one forward and backward pass as stock would run it: of what an executor evicts and recomputes nothing is seen.
 *
 * @internal
 */
export class PassRecorder extends OpRecorder {
  private readonly isReplaying: () => boolean;
  /** Whether nobody wants the record any more. */
  isDozing = false;

  constructor(isReplaying: () => boolean) {
    super({ outside: false });
    this.isReplaying = isReplaying;
  }

  /** When the mode is open: weights are there from the beginning. */
  start(): void {
    for (const variable of registeredVariables())
      this.categorizeTensor(variable, variable.trainable ? Category.parameter : Category.buffer);
    this.mark(gradientsStartMark);
  }

  stop(): Trace {
    this.mark(gradientsEndMark);
    return this.trace();
  }

  override opStarting(op: OpCall): void {
    if (!this.isReplaying()) super.opStarting(op);
  }

  override opDone(op: OpDone): void {
    if (!this.isReplaying()) super.opDone(op);
  }

  override storageAllocated(storage: Storage, origin: StorageOrigin): void {
    if (!this.isReplaying()) super.storageAllocated(storage, origin);
  }

  override storageResized(): void {}

  override phaseChanged(phase: number): void {
    if (!this.isReplaying()) super.phaseChanged(phase);
  }
}
