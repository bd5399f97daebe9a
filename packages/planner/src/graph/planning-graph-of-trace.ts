import { GraphAliasTracker, graphOfTrace, NodeKind, type TraceGraph } from "@remat/memory/graph";
import { EventKind, OpFlag, Phase, RematError, type Rows, row, type Trace } from "@remat/trace";
import { type EngineLifetimes, engineLifetimes } from "./engine-lifetimes.js";
import { type InPlaceOps, inPlaceOps } from "./in-place-ops.js";
import { type PlanningGraph, type PlanningNode, planningGraph, rowsOf } from "./planning-graph.js";

export interface PlanningGraphOfTraceOptions {
  /**
   * Whether `op` may run again. Left out: ops of the forward pass that are neither random nor effectful; what the backward pass and the
   * optimizer compute is never made twice.
   */
  readonly isReplayable?: (op: number) => boolean;
}

/** A planning graph whose nodes know what of the trace they are. */
export interface TracePlanningGraph extends PlanningGraph {
  /** The op that each node is in the plain order, or -1 for a storage that no op makes. */
  readonly opOfNode: Int32Array;
  /** What running a node again runs: its op, and the in-place ops that finish what it makes. */
  readonly replayOps: Rows;
  /** The storage that each value is. */
  readonly storageOfValue: Int32Array;
}

/**
 * What can be planned of a trace of one training step. A node is an op, a value a storage that it allocates, with the needed lifetime
 * (trace rule T3). A view reads its storage, and never needs to run again. What JavaScript filled is a node that cannot run again, as
 * is, by default, everything but pure forward ops, and whatever makes a result (trace rule T8): a result may be a variable by now.
 *
 * What is predicted is what an executor holds that follows a plan inside `engine.gradients`: outputs of ops in it go when they are not needed, all
 * else when the engine lets it go, and a kernel's scratch counts with the most of it that there is at once.
 *
 * Weights, optimizer slots and inputs that the trace never frees are `baseBytes`; those that it frees are held until then. An in-place op
 * runs again together with the op whose storage it writes into, where nothing reads the storage in between and its other inputs are
 * there before; otherwise neither runs again.
 *
 * @throws RematError `TRACE_PHASE` for a trace without a backward pass, `TRACE_RUNTIME` for one without runtimes: price it first.
 * @example
 * const graph = planningGraphOfTrace(await readTrace(file));
 */
export function planningGraphOfTrace(trace: Trace, options: PlanningGraphOfTraceOptions = {}): TracePlanningGraph {
  checkTrace(trace);
  const graph = graphOfTrace(trace);
  const isReplayable =
    options.isReplayable ??
    ((op: number) =>
      trace.ops.phase[op] === Phase.forward &&
      (trace.ops.flags[op] & (OpFlag.random | OpFlag.effectful | OpFlag.source)) === 0);
  return new TracePlanning(trace, graph, isReplayable).build();
}

function checkTrace(trace: Trace): void {
  if (!trace.hasPhase(Phase.backward))
    throw new RematError(
      "TRACE_PHASE",
      `the trace of '${trace.header.model ?? "a model"}' has ${trace.ops.count} ops and none of a backward pass; trace a training step`,
    );
  if (trace.ops.runtimeMs.every((ms) => !(ms > 0)))
    throw new RematError(
      "TRACE_RUNTIME",
      `none of the ${trace.ops.count} ops has a runtime; price the trace with @remat/runtime-estimator before planning it`,
    );
}

/** By storage the last op before the trace frees it; -1 for what is never freed, or before any op. */
function lastOpBeforeFree({ events, storages }: Trace): Int32Array {
  const lastOps = new Int32Array(storages.count).fill(-1);
  let op = -1;
  for (let e = 0; e < events.count; e++) {
    if (events.kind[e] === EventKind.op) op = events.subject[e];
    else if (events.kind[e] === EventKind.free) lastOps[events.subject[e]] = op;
  }
  return lastOps;
}

class TracePlanning {
  private readonly trace: Trace;
  private readonly graph: TraceGraph;
  private readonly isReplayable: (op: number) => boolean;
  private readonly nodes: (PlanningNode & { inputs: (readonly [number, number])[] })[] = [];
  private readonly opOfNode: number[] = [];
  private readonly replayOps: number[][] = [];
  private readonly storageOfValue: number[] = [];
  private readonly aliases: GraphAliasTracker;
  private readonly lifetimes: EngineLifetimes;
  /** Which output of which node each storage is; undefined for the caller's, which are there all the time. */
  private readonly valueOfStorage: (readonly [node: number, output: number] | undefined)[];
  private readonly isResult: Uint8Array;
  private baseBytes = 0;

  constructor(trace: Trace, graph: TraceGraph, isReplayable: (op: number) => boolean) {
    this.trace = trace;
    this.graph = graph;
    this.lifetimes = engineLifetimes(trace);
    this.isReplayable = (op) => this.lifetimes.isInPass[op] === 1 && isReplayable(op);
    this.aliases = new GraphAliasTracker(graph);
    this.valueOfStorage = Array.from({ length: graph.storages.count }, () => undefined);
    this.isResult = new Uint8Array(graph.storages.count);
    const end = graph.nodeCount - 1;
    for (const storage of row(graph.reads, end)) this.isResult[storage] = 1;
  }

  build(): TracePlanningGraph {
    const { graph, trace } = this;
    const { kinds, nodeCount } = graph;
    const lastOp = lastOpBeforeFree(trace);
    const inPlace = inPlaceOps(trace, graph, this.aliases, this.isReplayable);
    /** Storages that the trace frees after an op: that op is the last to need them. */
    const goesWith = new Map<number, number[]>();
    this.lifetimes.heldUntil.forEach((op, storage) => {
      if (op >= 0) goesWith.set(op, [...(goesWith.get(op) ?? []), storage]);
    });
    for (let n = 0; n < nodeCount; n++) {
      if (kinds[n] === NodeKind.placeholder) {
        const storage = graph.sources[n];
        const op = lastOp[storage];
        if (op < 0) this.baseBytes += graph.storages.bytes[storage];
        else {
          // The graph hands the caller's back; this one is gone by the end.
          this.isResult[storage] = 0;
          this.addSource(storage);
          if (this.lifetimes.heldUntil[storage] < 0) goesWith.set(op, [...(goesWith.get(op) ?? []), storage]);
        }
      } else if (kinds[n] === NodeKind.compute) {
        const storage = graph.sources[n];
        if (graph.ops[n] < 0) {
          if (this.lifetimes.isFound[storage] === 1) this.baseBytes += graph.storages.bytes[storage];
          else this.addSource(storage);
        } else this.addOp(n, graph.ops[n], inPlace, goesWith.get(graph.ops[n]) ?? []);
      }
    }
    return {
      ...planningGraph(this.nodes, this.baseBytes),
      opOfNode: Int32Array.from(this.opOfNode),
      replayOps: rowsOf(this.replayOps),
      storageOfValue: Int32Array.from(this.storageOfValue),
    };
  }

  private addSource(storage: number): void {
    this.add(`storage#${storage}`, -1, [], [storage], 0, { cost: 0, recomputable: false, replay: [] });
  }

  private addOp(n: number, op: number, inPlace: InPlaceOps, goesWith: readonly number[]): void {
    const { graph, trace } = this;
    const fresh = this.aliases.getFreshAllocations(n);
    const outputs = new Set(Array.from(trace.opOutputs(op)).flatMap((tensor) => trace.tensorStorages(tensor)));
    const made = [...fresh].filter((storage) => outputs.has(storage));
    const workspaceBytes = this.lifetimes.scratchBytes[op];
    const read = [...goesWith, ...row(graph.reads, n)].filter((storage) => !fresh.includes(storage));
    const isWriter = inPlace.isWriter[op] === 1;
    const finishing = inPlace.finishedBy.get(op) ?? [];
    for (const writer of finishing) for (const storage of inPlace.otherReads(writer)) read.push(storage);
    const ms = (each: number) => (Number.isFinite(trace.ops.runtimeMs[each]) ? trace.ops.runtimeMs[each] : 0);
    this.add(graph.nodeName(n), op, read, made, workspaceBytes, {
      // What an in-place op costs is counted with what it finishes, since the two run again together.
      cost: inPlace.isMerged[op] === 1 ? 0 : finishing.reduce((sum, writer) => sum + ms(writer), ms(op)),
      recomputable:
        this.isReplayable(op) &&
        !isWriter &&
        inPlace.isPinned[op] === 0 &&
        made.every((storage) => this.isResult[storage] === 0 && this.lifetimes.isSurvivor[storage] === 0),
      replay: [op, ...finishing],
    });
  }

  private add(
    name: string,
    op: number,
    read: readonly number[],
    made: readonly number[],
    workspaceBytes: number,
    { cost, recomputable, replay }: { cost: number; recomputable: boolean; replay: number[] },
  ): void {
    const node = this.nodes.length;
    const inputs: (readonly [number, number])[] = [];
    for (const storage of new Set(read)) {
      const value = this.valueOfStorage[storage];
      if (value !== undefined) inputs.push(value);
    }
    made.forEach((storage, output) => {
      this.valueOfStorage[storage] = [node, output];
      this.storageOfValue.push(storage);
    });
    this.nodes.push({
      name,
      cost,
      outputBytes: made.map((storage) => this.graph.storages.bytes[storage]),
      inputs,
      workspaceBytes,
      recomputable,
      results: made.flatMap((storage, output) => (this.isResult[storage] === 1 ? [output] : [])),
    });
    this.opOfNode.push(op);
    this.replayOps.push(replay);
  }
}
