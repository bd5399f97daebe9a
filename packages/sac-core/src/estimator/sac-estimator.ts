import type { Grouping, Layer } from "@remat/mod-tracker";
import { defaultDevice, deviceSpec, type EstimateMode, parseEstimateMode } from "@remat/runtime-estimator";
import { type PricedStepOptions, priceStep, tracePricedStep } from "@remat/runtime-estimator/step";
import { type DeviceSpec, RematError, type Trace } from "@remat/trace";
import {
  displayModulewiseSacStats,
  displaySacStats,
  displaySacTradeoffStats,
  greedyOrder,
  type ModulewiseDisplayOptions,
  type SACGreedyOrderMeta,
  type SACStats,
  type SACTradeOffStats,
  sacStats,
  tradeOff,
} from "../index.js";
import type { EstimateBackend, EstimateContext } from "./record-run.js";
import { saveTradeoffGraphs } from "./save-tradeoff-graphs.js";

/** Options of `SACEstimator`. */
export interface SACEstimatorOptions {
  /**
   * Device for times in cost-model mode: a spec, or a name that `deviceSpec` accepts. `estimate` rounds sizes up like
   * the allocator of this device. Default: `a100`.
   */
  readonly device?: DeviceSpec | string;
  /** Models whose layers count as modules. Ops of an untracked model count for the code that runs it. */
  readonly models?: readonly Layer[];
  /** How flat models are grouped into modules. Default: `auto`. */
  readonly grouping?: Grouping;
  /**
   * True to estimate, count and fail exactly like PyTorch, also in known odd cases. See `asPytorch` of `GainOptions` and
   * `SACStatsOptions` in `@remat/sac-core`, and of `CostOptions` in `@remat/runtime-estimator`.
   */
  readonly asPytorch?: boolean;
}

/**
 * Estimates the memory of each module's activations, and the time to recompute them. It has the life cycle of PyTorch's
 * `SACEstimator`: choose a mode, run the model under it, read the statistics.
 *
 * - `operator-level-cost-model`: times from the roofline model of `device`. Runs in fake mode unless you choose the
 *   real backend.
 * - `operator-level-benchmark`: times from running each distinct op on the current backend, after the run.
 *
 * Source: torch/distributed/_tools/sac_estimator.py.
 *
 * @example
 * const estimator = new SACEstimator({ device: "a100" });
 * await estimator.estimate("operator-level-cost-model", ({ track, record }) => {
 *   const model = track(tf.sequential({ layers: [tf.layers.dense({ units: 8, inputShape: [4] })] }), "mlp");
 *   const x = tf.zeros([32, 4]);
 *   return record(() => tf.variableGrads(() => tf.sum(model.apply(x))));
 * });
 * console.log(estimator.displayModulewiseSacStats({ depth: 2, tabular: true }));
 */
export class SACEstimator {
  /** Statistics by fully qualified name, in the order in which the modules first finish. */
  readonly sacModStats: Map<string, SACStats> = new Map();
  /** Order of recomputation, by fully qualified name. */
  readonly sacModGreedyOrderMeta: Map<string, SACGreedyOrderMeta> = new Map();
  /** Trade-offs by fully qualified name, filled by {@link pwlfSacTradeoffCurve}. */
  readonly sacModTradeoffStats: Map<string, SACTradeOffStats> = new Map();
  private readonly options: SACEstimatorOptions;
  private readonly device: DeviceSpec;
  private pricedTrace: Trace | undefined;

  constructor(options: SACEstimatorOptions = {}) {
    this.options = options;
    const { device = defaultDevice } = options;
    this.device = typeof device === "string" ? deviceSpec(device) : device;
  }

  /** The last run's trace with estimated times. */
  get trace(): Trace | undefined {
    return this.pricedTrace;
  }

  /**
   * Runs `fn` under the estimator and replaces all statistics. `fn` should run the model and take gradients, because
   * saved tensors are part of the statistics.
   *
   * @param backend `fake` runs without memory and values, and simulates the backend of tfjs-node. `fake:wasm` simulates
   * another backend. `real` runs on the current backend. Benchmark mode always times ops on the current backend.
   * @throws RematError `ESTIMATE_MODE` for an unknown mode, `SAC_DEVICES` if the model runs on several devices
   */
  async estimate(
    mode: EstimateMode | (string & {}),
    fn: (context: EstimateContext) => unknown,
    { backend = "fake" }: { readonly backend?: EstimateBackend } = {},
  ): Promise<this> {
    const parsed = parseEstimateMode(mode);
    const { models = [], grouping = "auto" } = this.options;
    // Only recording a run needs TensorFlow.js. Statistics of a recorded run do not.
    const { recordRun } = await import("./record-run.js");
    const trace = await recordRun(fn, { models, grouping, backend });
    const { header } = trace;
    const { allocationUnitBytes } = header.mode === "fake" ? this.device : header;
    return this.price(trace.withHeader({ ...header, allocationUnitBytes }), parsed);
  }

  /**
   * Estimates one training step of a model module (see `traceFakeStep` of `@remat/tracer`). Loss, optimizer, batch and
   * allocation unit have the same defaults as in all functions that trace a step. Computes shapes only, unless `isReal`
   * is set. In that case the step runs on the current backend.
   *
   * @throws RematError `ESTIMATE_MODE`, `SAC_DEVICES`, and the errors of `traceFakeStep`
   * @example
   * await new SACEstimator({ device: "h100" }).estimateStep("operator-level-cost-model", build, { batch: 8 });
   */
  async estimateStep(
    mode: EstimateMode | (string & {}),
    exported: unknown,
    request: Omit<PricedStepOptions, "device" | "asPytorch"> = {},
  ): Promise<this> {
    const parsed = parseEstimateMode(mode);
    const { grouping } = this.options;
    return this.take(
      await tracePricedStep(parsed, exported, { grouping, ...request, device: this.device, ...this.variant }),
    );
  }

  /**
   * Uses a recorded run instead of running one.
   *
   * @throws RematError `SAC_DEVICES`
   */
  take(trace: Trace): this {
    this.pricedTrace = trace;
    for (const map of [this.sacModStats, this.sacModGreedyOrderMeta, this.sacModTradeoffStats]) map.clear();
    for (const [fqn, stats] of sacStats(trace, this.variant)) {
      this.sacModStats.set(fqn, stats);
      this.sacModGreedyOrderMeta.set(fqn, greedyOrder(stats));
    }
    return this;
  }

  /**
   * Fits a piecewise linear function of `nSegments` pieces to every module's trade-off curve.
   *
   * @param saveTradeoffGraphsTo folder for a drawing of each curve, as SVG and PNG, named by module; by default none
   * are drawn
   * @returns the files written
   */
  async pwlfSacTradeoffCurve({
    nSegments = 2,
    saveTradeoffGraphsTo,
  }: {
    readonly nSegments?: number;
    readonly saveTradeoffGraphsTo?: string;
  } = {}): Promise<readonly string[]> {
    for (const [fqn, stats] of this.sacModStats)
      this.sacModTradeoffStats.set(fqn, tradeOff(stats, this.orderOf(fqn), { nSegments, ...this.variant }));
    if (saveTradeoffGraphsTo === undefined) return [];
    return saveTradeoffGraphs(
      Array.from(this.sacModTradeoffStats, ([fqn, stats]) => ({ fqn, tradeOff: stats })),
      saveTradeoffGraphsTo,
    );
  }

  /** Returns one module's statistics as text, in PyTorch's format. */
  displaySacStats(fqn: string, tabular = false): string {
    return displaySacStats(this.statsOf(fqn), { tabular });
  }

  /** Returns one module's trade-off as text, in PyTorch's format. */
  displaySacTradeoffStats(fqn: string, tabular = false): string {
    return displaySacTradeoffStats(this.orderOf(fqn), this.statsOf(fqn), { tabular, ...this.variant });
  }

  /** Returns statistics and trade-off of every module with at most `depth` name components. */
  displayModulewiseSacStats(options: ModulewiseDisplayOptions = {}): string {
    return displayModulewiseSacStats(this.sacModStats, this.sacModGreedyOrderMeta, {
      ...this.variant,
      ...options,
    });
  }

  private async price(trace: Trace, mode: EstimateMode): Promise<this> {
    return this.take(await priceStep(trace, mode, { device: this.device, ...this.variant }));
  }

  private get variant(): { asPytorch: boolean } {
    return { asPytorch: this.options.asPytorch ?? false };
  }

  private statsOf(fqn: string): SACStats {
    const stats = this.sacModStats.get(fqn);
    if (stats === undefined)
      throw new RematError(
        "MODULE_UNKNOWN",
        `no statistics for module ${fqn}. Use one of ${[...this.sacModStats.keys()].join(", ") || "(none; estimate first)"}.`,
      );
    return stats;
  }

  private orderOf(fqn: string): SACGreedyOrderMeta {
    return this.sacModGreedyOrderMeta.get(fqn) ?? greedyOrder(this.statsOf(fqn));
  }
}
