import { type GradientsResult, withDispatchModeSync } from "@remat/dispatch-hook";
import { reconsiderPass } from "@remat/dispatch-hook/release";
import type { Trace } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import type { BudgetPolicy } from "./budget-policy.js";
import { PassRecorder } from "./pass-recorder.js";
import { ReleasedMeter } from "./released-meter.js";
import type { StockMeter } from "./stock-meter.js";

/** A pass, and its memory with early release alone. @internal */
export interface MeteredPass {
  readonly result: GradientsResult;
  readonly released: ReleasedMeter;
}

/** A pass to record. `stock` also counts its memory in unmodified TensorFlow.js, if given. @internal */
export interface PassToRecord {
  run(): GradientsResult;
  readonly stock: StockMeter | undefined;
}

/** Runs a forward and backward pass, and counts the memory it would use in other modes. @internal */
export class PassObserver {
  private readonly meter: MemoryMeter;
  private readonly policy: BudgetPolicy;
  private readonly isReplaying: () => boolean;

  constructor(meter: MemoryMeter, policy: BudgetPolicy, isReplaying: () => boolean) {
    this.meter = meter;
    this.policy = policy;
    this.isReplaying = isReplaying;
  }

  /** Runs and records the pass. */
  record(pass: PassToRecord): MeteredPass & { readonly trace: Trace } {
    const recorder = new PassRecorder(this.isReplaying);
    const released = new ReleasedMeter(this.meter);
    const result = this.recordBy(recorder, released, pass);
    return { result, released, trace: recorder.stop() };
  }

  /**
   * Records a pass unless it begins like a known one. In that case recording stops after the first op, so the pass
   * takes no longer than usual.
   */
  recordUnknown(pass: PassToRecord): MeteredPass & { readonly trace: Trace | undefined } {
    const recorder = new PassRecorder(this.isReplaying);
    const released = new ReleasedMeter(this.meter);
    this.policy.onKnown = (isNew) => {
      recorder.isDozing = true;
      if (pass.stock !== undefined) pass.stock.isDozing = true;
      released.isDozing = !isNew;
      reconsiderPass();
    };
    try {
      const result = this.recordBy(recorder, released, pass);
      return { result, released, trace: recorder.isDozing ? undefined : recorder.stop() };
    } finally {
      this.policy.onKnown = undefined;
    }
  }

  /** Runs the pass and counts its memory with early release alone. */
  meterRelease(run: () => GradientsResult): MeteredPass {
    const released = new ReleasedMeter(this.meter);
    return { result: this.meterBy(released, run), released };
  }

  private recordBy(recorder: PassRecorder, released: ReleasedMeter, { run, stock }: PassToRecord): GradientsResult {
    const recorded = () =>
      withDispatchModeSync(recorder, () => {
        recorder.start();
        return stock === undefined ? run() : withDispatchModeSync(stock, run);
      });
    return this.meterBy(released, recorded, stock);
  }

  private meterBy(released: ReleasedMeter, run: () => GradientsResult, stock?: StockMeter): GradientsResult {
    this.policy.onUnused = ({ storage }) => {
      released.bufferUnused(storage);
      stock?.bufferUnused(storage);
    };
    try {
      return withDispatchModeSync(released, run);
    } finally {
      this.policy.onUnused = undefined;
    }
  }
}
