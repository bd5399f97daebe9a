import { type DeviceSpec, Phase, RematError, RuntimeSource, type Trace } from "@remat/trace";
import { type EstimateMode, parseEstimateMode } from "./estimate-mode.js";
import { type ModuleOrders, moduleOrders } from "./module-orders.js";
import { type ModuleRuntime, moduleRuntimes } from "./module-runtimes.js";
import { modulewiseText, totalText } from "./modulewise-text.js";
import type { CostOptions } from "./op-call.js";
import { priceTrace } from "./price-trace.js";

/**
 * PyTorch's `RuntimeEstimator` for recorded traces: choose a mode, pass a trace, read the statistics. (PyTorch's
 * estimator observes a run itself. Here you first record a trace, and can then estimate it for any number of devices.)
 *
 * - `operator-level-cost-model`: the roofline model of `device`. Without a device it uses the trace's own runtimes.
 * - `operator-level-benchmark`: the runtimes that `benchmarkTrace` of `@remat/runtime-estimator/benchmark` measured.
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
  private costs: CostOptions = {};
  private runtimes: ReadonlyMap<string, ModuleRuntime> = new Map();
  private orders: ModuleOrders = { modFwPreOrder: [], modFwPostOrder: [], modBwPreOrder: [], modBwPostOrder: [] };
  private totalMs = 0;
  private pricedTrace: Trace | undefined;

  /**
   * Chooses the mode in which the next trace is estimated. `asPytorch` gives PyTorch's own times, which are half as
   * long for ops that compute.
   *
   * @throws RematError `ESTIMATE_MODE` for an unknown mode
   */
  mode(
    name: EstimateMode | (string & {}),
    { device, asPytorch = false }: { readonly device?: DeviceSpec; readonly asPytorch?: boolean } = {},
  ): this {
    this.estimateMode = parseEstimateMode(name);
    this.device = device;
    this.costs = { asPytorch };
    return this;
  }

  /**
   * Replaces all statistics by those of `trace`.
   *
   * @throws RematError `NOT_MEASURED` in benchmark mode if no op was measured, `NOT_PRICED` in cost-model mode without
   * a device if no op has a runtime
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

  /** Forward and backward milliseconds by FQN. `Global` counts every op. */
  get modRuntimes(): ReadonlyMap<string, ModuleRuntime> {
    return this.runtimes;
  }

  /** FQNs in the order in which forward calls begin. */
  get modFwPreOrder(): readonly string[] {
    return this.orders.modFwPreOrder;
  }

  /** FQNs in the order in which forward calls end. */
  get modFwPostOrder(): readonly string[] {
    return this.orders.modFwPostOrder;
  }

  /** FQNs in the order in which backward calls begin. */
  get modBwPreOrder(): readonly string[] {
    return this.orders.modBwPreOrder;
  }

  /** FQNs in the order in which backward calls end. */
  get modBwPostOrder(): readonly string[] {
    return this.orders.modBwPostOrder;
  }

  /** The last trace, with its estimated runtimes. */
  get trace(): Trace | undefined {
    return this.pricedTrace;
  }

  /** Returns execution orders and runtimes of modules at most `depth` names deep, in PyTorch's format. */
  displayModulewiseStats({ depth = 2 }: { readonly depth?: number } = {}): string {
    return modulewiseText({ modRuntimes: this.runtimes, ...this.orders }, { depth });
  }

  /** Returns the line with the mode and the total that PyTorch's estimator prints at the end of a run. */
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
        `none of the trace's ${count} ops has a measured runtime. Run benchmarkTrace of @remat/runtime-estimator/benchmark on the trace first.`,
      );
    }
    if (this.device !== undefined) return priceTrace(trace, this.device, this.costs);
    if (counted((source) => source !== RuntimeSource.none)) return trace;
    throw new RematError(
      "NOT_PRICED",
      `none of the trace's ${count} ops has a runtime. Choose a device: mode("operator-level-cost-model", { device: deviceSpec("a100") }).`,
    );
  }
}
