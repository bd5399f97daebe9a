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

export interface SACEstimatorOptions {
  /** Prices ops in cost-model mode, and its allocator rounds the sizes of `estimate` up: a spec, or a name that `deviceSpec` knows. `a100` if not given. */
  readonly device?: DeviceSpec | string;
  /** Models whose layers are to be told apart: what is not tracked is part of whatever runs it. */
  readonly models?: readonly Layer[];
  /** How flat models get a hierarchy; `auto` if not given. */
  readonly grouping?: Grouping;
  /** Count and refuse as PyTorch does where that is known to be odd: see `asPytorch` of `@remat/sac-core`. */
  readonly asPytorch?: boolean;
}

/**
 * Estimates what memory each module's activations take and what it would cost in time to recompute them. PyTorch's `SACEstimator` with
 * the same life cycle: choose a mode, run the model under it, read the statistics.
 *
 * - `operator-level-cost-model`: times by the roofline model of `device`. Runs in fake mode unless a real backend is asked for.
 * - `operator-level-benchmark`: times by running each distinct op on the current backend, after the run.
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
  /** By fully qualified name, in the order in which the modules were first done. */
  readonly sacModStats: Map<string, SACStats> = new Map();
  readonly sacModGreedyOrderMeta: Map<string, SACGreedyOrderMeta> = new Map();
  /** Filled by {@link pwlfSacTradeoffCurve}. */
  readonly sacModTradeoffStats: Map<string, SACTradeOffStats> = new Map();
  private readonly options: SACEstimatorOptions;
  private readonly device: DeviceSpec;
  private pricedTrace: Trace | undefined;

  constructor(options: SACEstimatorOptions = {}) {
    this.options = options;
    const { device = defaultDevice } = options;
    this.device = typeof device === "string" ? deviceSpec(device) : device;
  }

  /** The priced trace of the last run. */
  get trace(): Trace | undefined {
    return this.pricedTrace;
  }

  /**
   * Runs `fn` under the estimator and replaces all statistics. `fn` should run the model and take gradients, since what autograd saves is
   * part of the statistics.
   *
   * @param backend `fake`, or a backend that fake mode is to stand for (`fake:wasm`): no memory, no values; left out, that of tfjs-node.
   * `real`: the current backend. In benchmark mode ops are timed on the current backend in either case.
   * @throws RematError `ESTIMATE_MODE` for another mode, `SAC_DEVICES` where the model runs on more than one device
   */
  async estimate(
    mode: EstimateMode | (string & {}),
    fn: (context: EstimateContext) => unknown,
    { backend = "fake" }: { readonly backend?: EstimateBackend } = {},
  ): Promise<this> {
    const parsed = parseEstimateMode(mode);
    const { models = [], grouping = "auto" } = this.options;
    // Only what records a run needs tfjs: statistics of a recorded one do without.
    const { recordRun } = await import("./record-run.js");
    const trace = await recordRun(fn, { models, grouping, backend });
    const { header } = trace;
    const { allocationUnitBytes } = header.mode === "fake" ? this.device : header;
    return this.price(trace.withHeader({ ...header, allocationUnitBytes }), parsed);
  }

  /**
   * Estimates one training step of what a model module exports (see `traceFakeStep` of `@remat/tracer`): its loss, optimizer, batch and
   * allocation unit are decided as for every other view of that step. Without data; `isReal`: on the current backend.
   *
   * @throws RematError `ESTIMATE_MODE`, `SAC_DEVICES`, and as `traceFakeStep` does
   * @example
   * await new SACEstimator({ device: "h100" }).estimateStep("operator-level-cost-model", build, { batch: 8 });
   */
  async estimateStep(
    mode: EstimateMode | (string & {}),
    exported: unknown,
    request: Omit<PricedStepOptions, "device"> = {},
  ): Promise<this> {
    const parsed = parseEstimateMode(mode);
    const { grouping } = this.options;
    return this.take(await tracePricedStep(parsed, exported, { grouping, ...request, device: this.device }));
  }

  /**
   * Takes a recorded run in place of running one.
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
   * Fits a broken line of `nSegments` pieces to every module's trade-off curve.
   *
   * @param saveTradeoffGraphsTo a folder for a picture of each, as SVG and PNG, named by module; left out: none are drawn
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

  /** One module's statistics as text, as PyTorch prints them. */
  displaySacStats(fqn: string, tabular = false): string {
    return displaySacStats(this.statsOf(fqn), { tabular });
  }

  /** One module's trade-off as text, as PyTorch prints it. */
  displaySacTradeoffStats(fqn: string, tabular = false): string {
    return displaySacTradeoffStats(this.orderOf(fqn), this.statsOf(fqn), { tabular, ...this.variant });
  }

  /** Both for every module of up to `depth` name components. */
  displayModulewiseSacStats(options: ModulewiseDisplayOptions = {}): string {
    return displayModulewiseSacStats(this.sacModStats, this.sacModGreedyOrderMeta, {
      ...this.variant,
      ...options,
    });
  }

  private async price(trace: Trace, mode: EstimateMode): Promise<this> {
    return this.take(await priceStep(trace, mode, { device: this.device }));
  }

  private get variant(): { asPytorch: boolean } {
    return { asPytorch: this.options.asPytorch ?? false };
  }

  private statsOf(fqn: string): SACStats {
    const stats = this.sacModStats.get(fqn);
    if (stats === undefined)
      throw new RematError(
        "MODULE_UNKNOWN",
        `there are no statistics of module ${fqn}: expected one of ${[...this.sacModStats.keys()].join(", ") || "(none; estimate first)"}.`,
      );
    return stats;
  }

  private orderOf(fqn: string): SACGreedyOrderMeta {
    return this.sacModGreedyOrderMeta.get(fqn) ?? greedyOrder(this.statsOf(fqn));
  }
}
