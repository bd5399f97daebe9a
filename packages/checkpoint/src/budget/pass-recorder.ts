import { type OpCall, type OpDone, registeredVariables, type Storage, type StorageOrigin } from "@remat/dispatch-hook";
import { Category, gradientsEndMark, gradientsStartMark, type Trace } from "@remat/trace";
import { OpRecorder } from "@remat/tracer";

/**
 * Records one forward and backward pass as unmodified TensorFlow.js would run it. Evictions and recomputations of an
 * executor do not appear in the trace.
 *
 * @internal
 */
export class PassRecorder extends OpRecorder {
  private readonly isReplaying: () => boolean;
  /** True if the record is no longer needed. */
  isDozing = false;

  constructor(isReplaying: () => boolean) {
    super({ outside: false });
    this.isReplaying = isReplaying;
  }

  /** Call when the mode is open. Registers the existing weights. */
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
