import type {
  MemoryBands,
  ModuleTreeView,
  PolicyView,
  StorageLife,
  StorageLivesOptions,
  TradeOffPoint,
  TradeOffView,
} from "@remat/reporting";
import type { HeldTree } from "@remat/reporting/held-tree";
import type { TraceHeader } from "@remat/trace";
import type { ReportMeta } from "../../src/data/report-meta.js";

/** Ops as the page needs them, in columns. */
export interface PageOps {
  readonly count: number;
  /** Index into `names`. */
  readonly name: Int32Array;
  readonly phase: Uint8Array;
  /** Bits of `OpMark`. */
  readonly marks: Uint8Array;
  /** Index into `modules`, or -1. */
  readonly module: Int32Array;
  readonly runtimeMs: Float64Array;
  /** Memory of its results that no earlier op allocated. */
  readonly memoryBytes: Float64Array;
  /** Start times, with one more entry than there are ops. */
  readonly startMs: Float64Array;
}

/** Data that the page needs before showing anything. */
export interface Overview {
  readonly meta: ReportMeta;
  readonly header: TraceHeader;
  readonly names: readonly string[];
  /** Fully qualified names, by module. */
  readonly modules: readonly string[];
  readonly ops: PageOps;
  /** Undefined if the run does not record lifetimes. */
  readonly bands: MemoryBands | undefined;
  readonly overlays: readonly Float64Array[];
}

/** A step's memory under a plan. */
export interface PlanAnswer {
  /** Memory by category. Undefined if it does not follow from the order in which the plan runs ops. */
  readonly bands: MemoryBands | undefined;
  /** The op at the peak. */
  readonly peakOp: number;
  /** For each op: see `planFates`, and how often it is recomputed. */
  readonly fates: Uint8Array;
  readonly recomputations: Uint16Array;
}

export interface ModulesAnswer {
  readonly tree: ModuleTreeView;
  /** Modules with statistics, which therefore have a trade-off. The outermost first. */
  readonly withStats: readonly string[];
}

/** A module's trade-off, and its ops. */
export interface SacAnswer {
  /** The requested module, or the nearest one around it that has statistics. */
  readonly fqn: string;
  readonly view: TradeOffView;
  readonly opCount: number;
}

/** Columns of PyTorch's tables for the ops of a module, by op of the trace. */
export interface SacColumns {
  /** Bytes per ms. NaN if it is not a candidate. */
  readonly msps: Float64Array;
  /**
   * Share of the module's memory freed, and of its forward pass recomputed, when the greedy order has reached the op.
   */
  readonly freed: Float64Array;
  readonly recomputed: Float64Array;
  /** The op that an in-place op writes into, or -1. */
  readonly inPlaceParent: Int32Array;
}

/** The plans for a budget by both methods. */
export interface PolicyAnswer {
  readonly fqn: string;
  /** Ops of the trace, by op of the policies. */
  readonly ops: Int32Array;
  readonly greedy: PolicyView;
  /** Undefined if nothing fits, or if the module is too large to solve interactively. */
  readonly optimal: PolicyView | undefined;
  readonly whyNotOptimal: string | undefined;
}

export interface OpQuery {
  /** Only ops in this module, or empty for all. */
  readonly module: string;
  /** Only ops whose name or module contains this text. */
  readonly text: string;
  /** Only ops with all of these bits of `OpMark`. */
  readonly marks: number;
  /** Only ops of this phase, or -1 for all. */
  readonly phase: number;
  /** Only ops with this fate under the policy, or -1 for all. */
  readonly fate: number;
  readonly sort: "op" | "name" | "module" | "phase" | "memoryBytes" | "runtimeMs" | "msps" | "freed" | "fate" | "plan";
  readonly isDescending: boolean;
}

export interface OpAnswer {
  readonly rows: Int32Array;
  readonly memoryBytes: number;
  readonly runtimeMs: number;
}

export interface SearchAnswer {
  readonly modules: readonly string[];
  readonly ops: Int32Array;
}

/** Questions that the engine answers. */
export interface EngineMethods {
  open(text: string): Promise<Overview>;
  modules(): Promise<ModulesAnswer>;
  moduleBands(within: string): Promise<MemoryBands | undefined>;
  /** Memory under a plan of `meta.followed`. */
  plan(index: number): Promise<PlanAnswer>;
  /**
   * Memory in use after an op, or for -1 at the peak. `plan` is a plan of `meta.followed`, or -1 for the recorded step.
   */
  held(op: number, plan: number): Promise<HeldTree>;
  /** The largest storages that live within a range of ops, those allocated by `op` first. */
  lives(options: StorageLivesOptions): Promise<readonly StorageLife[]>;
  sac(fqn: string): Promise<SacAnswer | undefined>;
  columns(fqn: string): Promise<SacColumns | undefined>;
  multiples(limit: number): Promise<readonly SacAnswer[]>;
  optimalCurve(fqn: string): Promise<readonly TradeOffPoint[]>;
  policy(fqn: string, keptShare: number, wantsOptimal: boolean): Promise<PolicyAnswer | undefined>;
  query(query: OpQuery, fate: Uint8Array | undefined, keys: ArrayLike<number> | undefined): Promise<OpAnswer>;
  search(text: string): Promise<SearchAnswer>;
}
