import {
  type HeldStorages,
  heldPeak,
  type IdleMemory,
  idleAtPeak,
  type MemoryMoment,
  type MemoryTimeline,
  memoryTimeline,
  momentAt,
  momentOfPeak,
  storagesAfterOp,
  storagesAtPeak,
  tellsLifetimes,
} from "@remat/memory";
import { StepFacts } from "@remat/memory/sequence";
import {
  allOpsView,
  type ComparedRun,
  categoryBands,
  type MemoryBands,
  type ModuleTreeView,
  moduleBands,
  moduleTreeView,
  type OpTableView,
  opTableView,
  type TimeFormat,
} from "@remat/reporting";
import { type HeldTree, heldTree } from "@remat/reporting/held-tree";
import { type DeviceToFit, judgeMemory, judgeStep, type Verdict } from "@remat/reporting/verdict";
import {
  greedyOrder,
  type SACGreedyOrderMeta,
  type SACStats,
  type SACTradeOffStats,
  sacStats,
  tradeOff,
} from "@remat/sac-core";
import { type FsdpSimulation, parseShardingPlan, type ShardingPlan, simulateFsdp } from "@remat/sharding";
import { formatOccurrence, opOccurrences, RematError, type Trace } from "@remat/trace";
import { timeFormatOf } from "../text/format-time.js";
import { lazy, memoize } from "./memoize.js";
import { applySettings, deviceOfSettings, type GivenDevice, initialSettings, type Settings } from "./settings.js";
import type { StepAtHand } from "./step-at-hand.js";

/** A module's statistics with everything that the trade-off view draws. */
export interface ModuleTradeOff {
  readonly fqn: string;
  readonly stats: SACStats;
  readonly order: SACGreedyOrderMeta;
  readonly tradeOff: SACTradeOffStats;
}

/** For larger steps, computing what freeing earlier would save takes too long for the first screen. */
const mostOpsJudged = 30_000;

/** Identifies a document. */
export interface DocumentName {
  /** Display name of the model or file. */
  readonly title: string;
  /** The file it was read from. */
  readonly path?: string | undefined;
  /** True if that file is a model, so that its step can be traced again. */
  readonly isModel?: boolean | undefined;
}

/**
 * A trace under some settings, with its view models, each created on first use. It is immutable. Other settings make
 * another document of the same trace.
 */
export class TraceDocument {
  readonly name: DocumentName;
  /** As it was read. */
  readonly recorded: Trace;
  readonly settings: Settings;
  readonly atHand: StepAtHand;
  /** With op times and the settings' allocation unit. */
  readonly trace: Trace;
  /** Formats its times. */
  readonly formatTime: TimeFormat;

  /** The step that plans are made for, under the same settings. Undefined: the trace itself. */
  readonly planned: () => Trace | undefined;
  readonly stats: () => ReadonlyMap<string, SACStats>;
  readonly tree: () => ModuleTreeView;
  /** The trace of one rank if the settings shard, otherwise `trace`. */
  readonly memoryTrace: () => Trace;
  /** True if the trace records when storages are freed. */
  readonly isHeldKnown: () => boolean;
  readonly timeline: () => MemoryTimeline;
  readonly categoryBands: () => MemoryBands;
  readonly moduleBands: (within: string) => MemoryBands;
  readonly peak: () => MemoryMoment | undefined;
  /**
   * Memory in use after an op, or for -1 at the peak. Undefined if the trace does not record when storages are freed.
   */
  readonly held: (op: number) => HeldTree | undefined;
  /** Memory at the peak that no op uses any more, or undefined if the trace does not record lifetimes. */
  readonly idle: () => IdleMemory | undefined;
  /**
   * The immediately available verdict, or undefined if the trace does not record lifetimes, or cannot be sharded this
   * way.
   */
  readonly verdict: () => Verdict | undefined;
  /** Ops of a module, or of the whole step for an empty name. */
  readonly ops: (fqn: string) => OpTableView;
  readonly tradeOff: (fqn: string) => ModuleTradeOff | undefined;
  /** For each op: a name that identifies it in another run as well. */
  readonly occurrences: () => readonly string[];
  /** For each op of a rank: the same op of the trace. */
  private readonly fromRank: () => readonly (number | undefined)[];
  private readonly heldAtPeak: () => HeldStorages;
  private readonly moments: (op: string) => MemoryMoment;
  /** The simulation of one rank, or undefined if the settings do not shard. */
  readonly simulation: () => FsdpSimulation | undefined;

  constructor(name: DocumentName, recorded: Trace, settings: Settings, atHand: StepAtHand = {}) {
    this.name = name;
    this.recorded = recorded;
    this.settings = settings;
    this.atHand = atHand;
    this.trace = applySettings(recorded, settings);
    const { trace } = this;
    this.formatTime = timeFormatOf(trace);
    this.planned = lazy(() => atHand.planned && applySettings(atHand.planned, settings));
    this.stats = lazy(() => sacStats(trace));
    this.tree = lazy(() => moduleTreeView(trace, this.stats()));
    this.simulation = lazy(() =>
      settings.worldSize === 1 ? undefined : simulateFsdp(trace, shardingPlanOf(settings)),
    );
    this.memoryTrace = lazy(() => this.simulation()?.trace ?? trace);
    this.isHeldKnown = lazy(() => tellsLifetimes(trace));
    this.timeline = lazy(() => memoryTimeline(this.memoryTrace()));
    this.categoryBands = lazy(() => categoryBands(this.timeline()));
    this.moduleBands = memoize(
      (within) => moduleBands(this.memoryTrace(), this.timeline(), within === "" ? {} : { within }),
      4,
    );
    this.peak = lazy(() => {
      const { peak } = this.timeline();
      return this.isHeldKnown() ? momentOfPeak(this.memoryTrace(), peak, { limit: 12 }) : undefined;
    });
    this.heldAtPeak = lazy(() => storagesAtPeak(this.memoryTrace(), this.timeline().peak));
    const tree = memoize((op) => {
      const of = this.memoryTrace();
      return heldTree(of, Number(op) < 0 ? this.heldAtPeak() : storagesAfterOp(of, Number(op)));
    }, 8);
    this.held = (op) => (this.isHeldKnown() ? tree(String(op)) : undefined);
    this.idle = lazy(() => (this.isHeldKnown() ? idleAtPeak(this.memoryTrace(), this.heldAtPeak()) : undefined));
    this.verdict = lazy(() => this.judge());
    this.moments = memoize((op) => momentAt(this.memoryTrace(), { op: Number(op) }, { limit: 12 }), 64);
    this.ops = memoize((fqn) => this.opsOf(fqn), 4);
    this.tradeOff = memoize((fqn) => this.tradeOffOf(fqn), 8);
    this.occurrences = lazy(() => occurrenceTexts(trace));
    this.fromRank = lazy(() => {
      const byOccurrence = new Map(this.occurrences().map((occurrence, op) => [occurrence, op]));
      return occurrenceTexts(this.memoryTrace()).map((occurrence) => byOccurrence.get(occurrence));
    });
  }

  static open(name: DocumentName, recorded: Trace, given: GivenDevice, atHand: StepAtHand = {}): TraceDocument {
    return new TraceDocument(name, recorded, initialSettings(recorded, given), atHand);
  }

  with(settings: Partial<Settings>): TraceDocument {
    return new TraceDocument(this.name, this.recorded, { ...this.settings, ...settings }, this.atHand);
  }

  /** Returns the storages alive after an op. */
  momentAfter(op: number): MemoryMoment {
    return this.moments(String(op));
  }

  /** Converts an op of {@link memoryTrace} to one of {@link trace}. Returns undefined for an op that sharding adds. */
  opInTrace(op: number): number | undefined {
    return this.memoryTrace() === this.trace ? op : this.fromRank()[op];
  }

  /** The innermost module around or at `fqn` that has statistics. For an unknown name, the outermost. */
  moduleWithStats(fqn: string): string | undefined {
    const stats = this.stats();
    for (let name = fqn; name !== ""; name = name.slice(0, Math.max(0, name.lastIndexOf("."))))
      if (stats.has(name)) return name;
    return this.tree().nodes.find((node) => stats.has(node.fqn))?.fqn;
  }

  /** Returns this document as one side of a comparison. */
  compared(name: string): ComparedRun {
    return { name, trace: this.trace, modules: this.tree(), peak: this.peak() };
  }

  /** The device that the step has to fit on. */
  get device(): DeviceToFit {
    return deviceOfSettings(this.settings);
  }

  /**
   * Returns whether a fuller verdict can be computed later: ways to make it fit, or for a large step, savings with no
   * slowdown.
   */
  get isJudgedLater(): boolean {
    const { header, ops } = this.recorded;
    const isWhole = this.recorded.truncated === undefined && header.failure === undefined;
    if (this.atHand.judge === undefined || !isWhole || !this.isAsTaken || !this.isHeldKnown()) return false;
    return this.isPrediction || ops.count > mostOpsJudged || this.verdict()?.fits === false;
  }

  /** Returns whether it is the original step on one device. */
  private get isAsTaken(): boolean {
    const { worldSize, allocationUnitBytes } = this.settings;
    return worldSize === 1 && allocationUnitBytes === undefined;
  }

  /** Judges the step for the first line of every screen. Views that need the trace report its errors. */
  private judge(): Verdict | undefined {
    const { device } = this;
    if (!this.isHeldKnown()) return undefined;
    const isJudgedWhole = this.settings.worldSize === 1 && this.trace.ops.count <= mostOpsJudged;
    const { earlyReleasePeakBytes, commandFor } = this.atHand;
    try {
      if (!isJudgedWhole)
        return judgeStep({ ...heldPeak(this.memoryTrace()), truncated: this.recorded.truncated }, { device });
      const planned = this.planned();
      if (!this.isAsTaken) return judgeMemory(new StepFacts(this.trace, { planned }), { device });
      return judgeMemory(new StepFacts(this.trace, { planned, earlyReleasePeakBytes }), {
        device,
        commandFor: (step) => commandFor?.(step, device),
      });
    } catch (error) {
      if (error instanceof RematError) return undefined;
      throw error;
    }
  }

  /** Returns whether it is a forward pass only. */
  get isPrediction(): boolean {
    return this.trace.header.step?.predict === true;
  }

  private opsOf(fqn: string): OpTableView {
    const around = fqn === "" ? undefined : this.moduleWithStats(fqn);
    const stats = around === undefined ? undefined : this.stats().get(around);
    if (fqn === "" || stats === undefined) return allOpsView(this.trace, "the whole step");
    return opTableView(this.trace, { title: fqn, stats, ...(around !== fqn && { within: fqn }) });
  }

  private tradeOffOf(fqn: string): ModuleTradeOff | undefined {
    if (this.isPrediction) return undefined;
    const name = this.moduleWithStats(fqn);
    const stats = name === undefined ? undefined : this.stats().get(name);
    if (name === undefined || stats === undefined) return undefined;
    const order = greedyOrder(stats);
    return { fqn: name, stats, order, tradeOff: tradeOff(stats, order) };
  }
}

function occurrenceTexts(trace: Trace): string[] {
  return opOccurrences(trace).map(formatOccurrence);
}

/** @throws RematError `SHARDING_PLAN` for an invalid plan that was typed */
function shardingPlanOf({ worldSize, sharding }: Settings): ShardingPlan {
  return parseShardingPlan(sharding === "" ? `world=${worldSize}` : `world=${worldSize},${sharding}`);
}
