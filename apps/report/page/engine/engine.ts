import {
  heldPeak,
  type MemoryTimeline,
  memoryTimeline,
  storagesAfterOp,
  storagesAtPeak,
  tellsLifetimes,
} from "@remat/memory";
import { accountCheckpoints, CheckpointableSteps } from "@remat/memory/checkpointing";
import {
  accountSequence,
  type SequenceAccount,
  sequenceGraphOfTrace,
  type TraceSequenceGraph,
} from "@remat/memory/sequence";
import {
  AlignedOps,
  categoryBands,
  type MemoryBands,
  moduleBands,
  moduleTreeView,
  type StorageLife,
  type StorageLivesOptions,
  storageLives,
  type TradeOffPoint,
} from "@remat/reporting";
import { type HeldTree, heldTree } from "@remat/reporting/held-tree";
import { type SACStats, sacStats } from "@remat/sac-core";
import type { Trace } from "@remat/trace";
import { decodeReport, type ReportData } from "../../src/data/report-file.js";
import type {
  EngineMethods,
  ModulesAnswer,
  OpAnswer,
  OpQuery,
  Overview,
  PlanAnswer,
  PolicyAnswer,
  SacAnswer,
  SacColumns,
  SearchAnswer,
} from "./answers.js";
import { decodeBlock } from "./decode-block.js";
import { pageOps } from "./page-ops.js";
import { queryOps, searchOps } from "./query-ops.js";
import { SacModule } from "./sac-module.js";
import { wellFormed } from "./well-formed.js";

/** Answers the page's questions from the data. It runs in a worker if the browser allows that, or else in the page. */
export class Engine implements EngineMethods {
  private data: ReportData | undefined;
  private overview: Overview | undefined;
  /** Maps ops of the step as plans run it to those that are shown. */
  private aligned: AlignedOps | undefined;
  private timeline: MemoryTimeline | undefined;
  private stats: Map<string, SACStats> | undefined;
  private graph: TraceSequenceGraph | undefined;
  private steps: CheckpointableSteps | undefined;
  /** The account that was requested last. */
  private account:
    | { readonly index: number; readonly of: SequenceAccount | undefined; readonly trace: Trace }
    | undefined;
  private readonly sacModules = new Map<string, SacModule>();

  async open(text: string): Promise<Overview> {
    const data = decodeReport(await decodeBlock(text));
    const { trace, meta, overlays } = data;
    this.data = data;
    this.aligned = data.planned && new AlignedOps(data.planned.match, data.planned.trace.ops.count);
    if (tellsLifetimes(trace)) this.timeline = memoryTimeline(trace);
    this.overview = {
      meta,
      header: trace.header,
      names: trace.strings,
      modules: trace.modules.map(({ fqn }) => fqn),
      ops: pageOps(trace),
      bands: this.timeline && categoryBands(this.timeline),
      overlays,
    };
    return this.overview;
  }

  async modules(): Promise<ModulesAnswer> {
    const stats = this.statistics();
    const tree = moduleTreeView(this.trace, stats);
    return { tree, withStats: tree.nodes.flatMap(({ fqn }) => (stats.has(fqn) ? [fqn] : [])) };
  }

  async moduleBands(within: string): Promise<MemoryBands | undefined> {
    if (this.timeline === undefined) return undefined;
    return moduleBands(this.trace, this.timeline, { limit: 9, ...(within !== "" && { within }) });
  }

  async plan(index: number): Promise<PlanAnswer> {
    const account = this.accountOf(index);
    const { aligned } = this;
    const shown = account && (aligned?.carry(account) ?? account);
    const fates = this.data?.followed[index]?.fates ?? new Uint8Array(0);
    return {
      // Copies, because they are transferred to the page.
      bands: shown && categoryBands(shown),
      peakOp: shown?.peakOp ?? -1,
      fates: aligned?.carryFates(fates) ?? fates,
      recomputations: shown?.recomputations ?? new Uint16Array(this.trace.ops.count),
    };
  }

  async held(op: number, plan: number): Promise<HeldTree> {
    const { trace } = this;
    const account = plan < 0 ? undefined : this.accountOf(plan);
    if (account !== undefined) {
      const { aligned } = this;
      const tree = heldTree(this.account?.trace ?? trace, account.heldAt(aligned?.opOf(op, account) ?? op));
      return aligned?.carryTree(tree) ?? tree;
    }
    return heldTree(
      trace,
      op < 0 ? storagesAtPeak(trace, this.timeline?.peak ?? heldPeak(trace)) : storagesAfterOp(trace, op),
    );
  }

  async lives(options: StorageLivesOptions): Promise<readonly StorageLife[]> {
    return storageLives(this.trace, options);
  }

  async sac(fqn: string): Promise<SacAnswer | undefined> {
    return this.sacModule(fqn)?.answer();
  }

  async columns(fqn: string): Promise<SacColumns | undefined> {
    return this.sacModule(fqn)?.columns(this.trace.ops.count);
  }

  async multiples(limit: number): Promise<readonly SacAnswer[]> {
    const names = [...this.statistics().keys()];
    const depth = (fqn: string): number => fqn.split(".").length;
    const { modules } = this.trace;
    const place = new Map(modules.map(({ fqn }, i) => [fqn, i]));
    const shown = names
      .sort((a, b) => depth(a) - depth(b) || (place.get(a) ?? 0) - (place.get(b) ?? 0))
      .slice(0, limit);
    return shown.flatMap((fqn) => this.sacModule(fqn)?.answer(160) ?? []);
  }

  async optimalCurve(fqn: string): Promise<readonly TradeOffPoint[]> {
    return (await this.sacModule(fqn)?.optimalCurve()) ?? [];
  }

  async policy(fqn: string, keptShare: number, wantsOptimal: boolean): Promise<PolicyAnswer | undefined> {
    return this.sacModule(fqn)?.policy(keptShare, wantsOptimal);
  }

  async query(query: OpQuery, fate: Uint8Array | undefined, keys: ArrayLike<number> | undefined): Promise<OpAnswer> {
    return queryOps(this.opened, query, fate, keys);
  }

  async search(text: string): Promise<SearchAnswer> {
    return searchOps(this.opened, text);
  }

  private get trace(): Trace {
    if (this.data === undefined) throw new Error("the data has not been opened");
    return this.data.trace;
  }

  private get opened(): Overview {
    if (this.overview === undefined) throw new Error("the data has not been opened");
    return this.overview;
  }

  private accountOf(index: number): SequenceAccount | undefined {
    if (this.account?.index !== index) this.account = { index, ...this.follow(index) };
    return this.account.of;
  }

  /**
   * A plan's memory, and the trace whose storages it refers to, or undefined if memory does not follow from the order
   * in which the plan runs ops.
   */
  private follow(index: number): Pick<NonNullable<Engine["account"]>, "of" | "trace"> {
    const { trace } = this;
    const policy = this.data?.meta.followed[index]?.policy;
    if (policy !== undefined)
      return { of: accountCheckpoints((this.steps ??= new CheckpointableSteps(trace)), policy), trace };
    const sequence = this.data?.followed[index]?.sequence;
    if (sequence === undefined || sequence.length === 0) return { of: undefined, trace };
    this.graph ??= sequenceGraphOfTrace(this.data?.planned?.trace ?? trace);
    return { of: accountSequence(this.graph, sequence), trace: this.graph.trace };
  }

  private statistics(): Map<string, SACStats> {
    this.stats ??= sacStats(this.trace);
    return this.stats;
  }

  /** The module, or the nearest one around it that has statistics. Without any, the one with the most ops. */
  private sacModule(fqn: string): SacModule | undefined {
    const stats = this.statistics();
    // An address cannot contain a lone surrogate, but a name can.
    let name = stats.has(fqn) ? fqn : ([...stats.keys()].find((each) => wellFormed(each) === fqn) ?? fqn);
    while (name !== "" && !stats.has(name)) name = name.slice(0, Math.max(0, name.lastIndexOf(".")));
    if (name === "") {
      let most = -1;
      for (const [each, { ops }] of stats) if (ops.length > most) [name, most] = [each, ops.length];
    }
    const own = stats.get(name);
    if (own === undefined) return undefined;
    let module = this.sacModules.get(name);
    if (module === undefined) this.sacModules.set(name, (module = new SacModule(name, own)));
    return module;
  }
}
