import { currentFakeBackend, type FakeBackendName, fakeMode } from "@remat/fake";
import { type Grouping, type Layer, ModTracker } from "@remat/mod-tracker";
import { deviceSpec, type EstimateMode, parseEstimateMode, priceTrace } from "@remat/runtime-estimator";
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
} from "@remat/sac-core";
import { type DeviceSpec, RematError, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import { saveTradeoffGraphs } from "./save-tradeoff-graphs.js";

export interface SACEstimatorOptions {
  /** Prices ops in cost-model mode, and its allocator rounds sizes up: a spec, or a name that `deviceSpec` knows. `a100` if not given. */
  readonly device?: DeviceSpec | string;
  /** Models whose layers are to be told apart: what is not tracked is part of whatever runs it. */
  readonly models?: readonly Layer[];
  /** How flat models get a hierarchy; `auto` if not given. */
  readonly grouping?: Grouping;
  /** Count and refuse as PyTorch does where that is known to be odd: see `asPytorch` of `@remat/sac-core`. */
  readonly asPytorch?: boolean;
}

/** What {@link SACEstimator.estimate} gives to the function that it runs. */
export interface EstimateContext {
  /** Tracks one more model, as the option `models` does; for models that are built inside. */
  readonly track: <T extends Layer>(model: T, name?: string) => T;
  /** Runs a part of a plain function as the module of that name; names nest. */
  readonly scope: <T>(name: string, fn: () => T) => T;
  /**
   * From here on ops are recorded. Without a call everything that `fn` runs is: call it after building a model.
   * @returns what `run` returns
   */
  readonly record: <T>(run: () => T) => T;
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
    const { device = "a100" } = options;
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
    { backend = "fake" }: { readonly backend?: "real" | "fake" | `fake:${FakeBackendName}` } = {},
  ): Promise<this> {
    const parsed = parseEstimateMode(mode);
    const isFake = backend !== "real" || currentFakeBackend() !== undefined;
    const trace =
      backend === "real" || currentFakeBackend() !== undefined
        ? await this.record(fn)
        : await fakeMode(() => this.record(fn), {
            backend: backend === "fake" ? "tensorflow" : (backend.slice(5) as FakeBackendName),
          });
    this.take(await this.price(trace, parsed, isFake));
    return this;
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

  private async record(fn: (context: EstimateContext) => unknown): Promise<Trace> {
    const recorder = new TraceRecorder({ outside: false });
    const tracker = new ModTracker({ recorder });
    const { models = [], grouping = "auto" } = this.options;
    for (const model of models) tracker.track(model, { grouping });
    let recorded = false;
    const record = <T>(run: () => T): T => {
      recorded = true;
      return tracker.run(run);
    };
    const context: EstimateContext = {
      track: (model, name) => {
        tracker.track(model, { grouping, ...(name !== undefined && { name }) });
        return model;
      },
      scope: (name, run) => tracker.scope(name, run),
      record,
    };
    try {
      // Whether `fn` records a part of itself is known only when it has run; building a model twice would be worse than to look at `record.length`.
      await (fn.length === 0 ? record(() => fn(context)) : fn(context));
      if (!recorded) throw notRecorded();
      return recorder.trace();
    } finally {
      tracker.close();
    }
  }

  private async price(trace: Trace, mode: EstimateMode, isFake: boolean): Promise<Trace> {
    if (mode === "operator-level-benchmark") {
      const { benchmarkTrace } = await import("@remat/runtime-estimator/benchmark");
      return (await benchmarkTrace(trace, { device: this.device })).trace;
    }
    const { allocationUnitBytes } = isFake ? this.device : trace.header;
    return priceTrace(trace.withHeader({ ...trace.header, allocationUnitBytes }), this.device);
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

function notRecorded(): RematError {
  return new RematError(
    "SAC_NOTHING_RECORDED",
    "the function took the estimator's context but recorded nothing. Call record(() => …) around the training step.",
  );
}
