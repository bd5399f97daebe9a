import { type GradientsResult, withDispatchMode } from "@remat/dispatch-hook";
import type { Trace } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import type { BudgetPolicy } from "./budget-policy.js";
import { PassRecorder } from "./pass-recorder.js";
import { ReleasedMeter } from "./released-meter.js";
import type { StockMeter } from "./stock-meter.js";

/** A pass, and what it would hold with early release alone. @internal */
export interface MeteredPass {
  readonly result: GradientsResult;
  readonly released: ReleasedMeter;
}

/**
 * Runs a forward and backward pass, and counts besides what it would hold otherwise.
 *
 * @internal
 */
export class PassObserver {
  constructor(
    private readonly meter: MemoryMeter,
    private readonly policy: BudgetPolicy,
    private readonly isReplaying: () => boolean,
  ) {}

  /** Records the pass, too. `stock` is told of the pass where somebody asks what it would hold in stock. */
  record(run: () => GradientsResult, stock: StockMeter | undefined): MeteredPass & { readonly trace: Trace } {
    const recorder = new PassRecorder(this.isReplaying);
    const pass = this.meterRelease(
      () =>
        withDispatchMode(recorder, () => {
          recorder.start();
          return stock === undefined ? run() : withDispatchMode(stock, run);
        }),
      stock,
    );
    return { ...pass, trace: recorder.stop() };
  }

  /** Counts what the pass would hold with early release alone. */
  meterRelease(run: () => GradientsResult, stock?: StockMeter): MeteredPass {
    const released = new ReleasedMeter(this.meter);
    this.policy.onUnused = ({ storage }) => {
      released.bufferUnused(storage);
      stock?.bufferUnused(storage);
    };
    try {
      return { result: withDispatchMode(released, run), released };
    } finally {
      this.policy.onUnused = undefined;
    }
  }
}
