import { type DeviceSpec, Phase, RematError, RuntimeSource, type Trace } from "@remat/trace";
import { type EstimateMode, parseEstimateMode } from "./estimate-mode.js";
import { type ModuleOrders, moduleOrders } from "./module-orders.js";
import { type ModuleRuntime, moduleRuntimes } from "./module-runtimes.js";
import { modulewiseText, totalText } from "./modulewise-text.js";
import { priceTrace } from "./price-trace.js";

/**
 * PyTorch's `RuntimeEstimator` over recorded traces: choose a mode, give it a trace, read the statistics. (Upstream watches a run
 * itself; here an observer writes the trace first, and any number of devices can be tried on it.)
 *
 * - `operator-level-cost-model`: the roofline model of `device`; without one the trace's own runtimes are taken.
 * - `operator-level-benchmark`: the trace's runtimes as measured by `benchmarkTrace` of `@remat/runtime-estimator/benchmark`.
 *
 * Source: torch/distributed/_tools/runtime_estimator.py (2.13).
 *
 * @example
 * const estimator = new RuntimeEstimator().mode("operator-level-cost-model", { device: deviceSpec("h100") }).estimate(trace);
 * estimator.totalRuntimeMs;
 * console.log(estimator.displayModulewiseStats({ depth: 2 }));
 */
export class RuntimeEstimator {
  private estimateMode: EstimateMode = "operator-level-cost-model";
  private device: DeviceSpec | undefined;
  private runtimes: ReadonlyMap<string, ModuleRuntime> = new Map();
  private orders: ModuleOrders = { modFwPreOrder: [], modFwPostOrder: [], modBwPreOrder: [], modBwPostOrder: [] };
  private totalMs = 0;
  private pricedTrace: Trace | undefined;

  /** Chooses how the next trace is priced. Throws `RematError` (`ESTIMATE_MODE`) for a mode other than the two. */
  mode(name: EstimateMode | (string & {}), { device }: { readonly device?: DeviceSpec } = {}): this {
    this.estimateMode = parseEstimateMode(name);
    this.device = device;
    return this;
  }

  /**
   * Replaces all statistics by those of `trace`. Throws `RematError` (`NOT_MEASURED`) in benchmark mode if none of its ops was
   * measured, and `NOT_PRICED` in cost-model mode without a device if none has a runtime.
   */
  estimate(trace: Trace): this {
    const priced = this.price(trace);
    const { modRuntimes, totalRuntimeMs } = moduleRuntimes(priced);
    this.pricedTrace = priced;
    this.runtimes = modRuntimes;
    this.totalMs = totalRuntimeMs;
    this.orders = moduleOrders(priced);
    return this;
  }

  /** Sum over all ops, in milliseconds. */
  get totalRuntimeMs(): number {
    return this.totalMs;
  }

  /** Milliseconds by FQN, forward and backward; `Global` counts every op. */
  get modRuntimes(): ReadonlyMap<string, ModuleRuntime> {
    return this.runtimes;
  }

  get modFwPreOrder(): readonly string[] {
    return this.orders.modFwPreOrder;
  }

  get modFwPostOrder(): readonly string[] {
    return this.orders.modFwPostOrder;
  }

  get modBwPreOrder(): readonly string[] {
    return this.orders.modBwPreOrder;
  }

  get modBwPostOrder(): readonly string[] {
    return this.orders.modBwPostOrder;
  }

  /** The trace as it was priced last. */
  get trace(): Trace | undefined {
    return this.pricedTrace;
  }

  /** Execution orders and runtimes of modules at most `depth` names deep, as upstream prints them. */
  displayModulewiseStats({ depth = 2 }: { readonly depth?: number } = {}): string {
    return modulewiseText({ modRuntimes: this.runtimes, ...this.orders }, { depth });
  }

  /** The line with the mode and the total that upstream prints at the end of a run. */
  displayTotal(): string {
    return totalText(this.estimateMode, this.totalMs);
  }

  private price(trace: Trace): Trace {
    const { phase, runtimeSource, count } = trace.ops;
    const counted = (wanted: (source: number) => boolean) => {
      for (let op = 0; op < count; op++) if (phase[op] !== Phase.outside && wanted(runtimeSource[op])) return true;
      return count === 0;
    };
    if (this.estimateMode === "operator-level-benchmark") {
      if (counted((source) => source === RuntimeSource.measured)) return trace;
      throw new RematError(
        "NOT_MEASURED",
        `none of the trace's ${count} ops has a measured runtime: pass the trace through benchmarkTrace of @remat/runtime-estimator/benchmark first`,
      );
    }
    if (this.device !== undefined) return priceTrace(trace, this.device);
    if (counted((source) => source !== RuntimeSource.none)) return trace;
    throw new RematError(
      "NOT_PRICED",
      `none of the trace's ${count} ops has a runtime: choose a device, e.g. mode("operator-level-cost-model", { device: deviceSpec("a100") })`,
    );
  }
}
