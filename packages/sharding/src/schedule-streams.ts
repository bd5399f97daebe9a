import type { DeviceNetwork, Trace } from "@remat/trace";
import { ringMs } from "./network.js";
import type { FsdpSimulation } from "./simulate-fsdp.js";

/** The speeds of transfers on a rank and between ranks. */
export interface StreamSpeeds {
  readonly network: DeviceNetwork;
  /** Bandwidth of the device's memory in GB/s, for copies in and out of buffers. */
  readonly memoryGBps: number;
  /** Bandwidth between device and host in GB/s, in each direction. Required if a plan offloads. */
  readonly linkGBps?: number;
}

/** A time span of a stream, in milliseconds from the start of the run. */
export interface StreamSpan {
  readonly startMs: number;
  readonly endMs: number;
  /** The group, by number, that the work is for. It is undefined for ops of the model. */
  readonly group: number | undefined;
  /** True if the compute stream waits. */
  readonly waits: boolean;
}

/** One stream of a rank. */
export interface StreamLane {
  readonly name: "compute" | "all-gather" | "reduce-scatter" | "all-reduce";
  readonly spans: readonly StreamSpan[];
}

/** The time of communication for a parameter group, in milliseconds of the run. */
export interface GroupCommunication {
  /** The duration of its all-gathers. */
  readonly gatherMs: number;
  /** The duration of its reductions. */
  readonly reduceMs: number;
  /** The time for which ops of the model wait for this communication. */
  readonly exposedMs: number;
}

/** A schedule of the streams of a rank, with times in milliseconds. */
export interface StreamSchedule {
  /** The time at which all compute is done. */
  readonly totalMs: number;
  /** The part of the total spent in ops of the model. */
  readonly computeMs: number;
  /** The part of the total spent in copies in and out of the buffers of collectives. */
  readonly copyMs: number;
  /** The part of the total spent waiting for collectives and transfers. */
  readonly exposedMs: number;
  /** The streams with their time spans. */
  readonly lanes: readonly StreamLane[];
  /** Figures for each group of the simulation. */
  readonly groups: readonly GroupCommunication[];
}

/**
 * Schedules the work of a simulated rank on its streams, in the order of FSDP2.
 *
 * All-gathers run beside compute, one after the other. Each starts when the result of the previous one was copied out.
 * Compute waits for the parameters it is about to use. Before it fills the buffer of a reduction, it waits for the
 * previous reduction. At the end of the backward pass it waits for everything. Collectives take the time that {@link
 * ringMs} returns for a ring. The host is assumed to be ahead of the device. Ops of the model take the times in
 * `trace`.
 *
 * @param trace the trace of the simulation, with runtimes
 * @example
 * scheduleStreams(simulation, simulation.trace, { network, memoryGBps: 3350 }).exposedMs;
 */
export function scheduleStreams(
  { groups, work }: Pick<FsdpSimulation, "groups" | "work">,
  { ops, strings }: Pick<Trace, "ops" | "strings">,
  { network, memoryGBps, linkGBps = Number.POSITIVE_INFINITY }: StreamSpeeds,
): StreamSchedule {
  const compute = new Stream();
  const gather = new Stream();
  const reduce = new Stream();
  const replicate = new Stream();
  const costs = groups.map(() => ({ gatherMs: 0, reduceMs: 0, exposedMs: 0 }));
  /** For each group, the time at which its parameters are all-gathered. */
  const ready = groups.map(() => 0);
  /** Reductions whose buffers are still allocated: the end of each, and its group. */
  const reducing: { endMs: number; group: number }[] = [];
  let gatherFromMs = 0;
  let copyMs = 0;
  let computeMs = 0;
  const own = strings.map((name) => /^(fsdp|c10d)\./.test(name));
  const copy = (bytes: number, group: number): void => {
    const ms = bytes / (memoryGBps * 1e6);
    copyMs += ms;
    compute.run(compute.freeMs, ms, group);
  };
  const wait = (untilMs: number, group: number): void => {
    const ms = untilMs - compute.freeMs;
    if (ms <= 0) return;
    costs[group].exposedMs += ms;
    compute.run(compute.freeMs, ms, group, true);
  };
  let op = 0;
  const runUntil = (end: number): void => {
    for (; op < end; op++) {
      if (own[ops.name[op]] || ops.runtimeMs[op] === 0) continue;
      computeMs += ops.runtimeMs[op];
      compute.run(compute.freeMs, ops.runtimeMs[op], undefined);
    }
  };
  for (const item of work) {
    runUntil(item.op);
    switch (item.kind) {
      case "begin":
        gatherFromMs = compute.freeMs;
        break;
      case "gather": {
        const ms = item.hostBytes / (linkGBps * 1e6) + ringMs(item.bytes, { ranks: item.ranks, stride: 1 }, network);
        costs[item.group].gatherMs += ms;
        ready[item.group] = gather.run(Math.max(gather.freeMs, gatherFromMs), ms, item.group);
        break;
      }
      case "use":
        wait(ready[item.group], item.group);
        copy(2 * item.bytes, item.group);
        gatherFromMs = compute.freeMs;
        break;
      case "awaitReduction": {
        const oldest = reducing.shift();
        if (oldest !== undefined) wait(oldest.endMs, oldest.group);
        break;
      }
      case "reduce": {
        copy(2 * item.bytes, item.group);
        const ms = ringMs(item.bytes, { ranks: item.ranks, stride: 1 }, network);
        const endMs = reduce.run(Math.max(reduce.freeMs, compute.freeMs), ms, item.group);
        reducing.push({ endMs, group: item.group });
        const left = item.bytes / item.ranks;
        const again =
          2 * ringMs(left, { ranks: item.replicas, stride: item.ranks }, network) + item.hostBytes / (linkGBps * 1e6);
        costs[item.group].reduceMs += ms + again;
        if (again > 0) replicate.run(Math.max(replicate.freeMs, endMs), again, item.group);
        break;
      }
      case "join": {
        for (const stream of [gather, reduce, replicate]) wait(stream.freeMs, stream.lastGroup);
        reducing.length = 0;
        break;
      }
    }
  }
  runUntil(ops.count);
  const exposedMs = costs.reduce((sum, cost) => sum + cost.exposedMs, 0);
  return {
    totalMs: compute.freeMs,
    computeMs,
    copyMs,
    exposedMs,
    lanes: [
      { name: "compute", spans: compute.spans },
      { name: "all-gather", spans: gather.spans },
      { name: "reduce-scatter", spans: reduce.spans },
      { name: "all-reduce", spans: replicate.spans },
    ],
    groups: costs,
  };
}

class Stream {
  readonly spans: { startMs: number; endMs: number; group: number | undefined; waits: boolean }[] = [];
  freeMs = 0;
  lastGroup = 0;

  /** Adds work that starts at `startMs`, and returns its end. Adjacent spans of the same kind are merged. */
  run(startMs: number, ms: number, group: number | undefined, waits = false): number {
    if (ms <= 0) return Math.max(startMs, this.freeMs);
    this.freeMs = startMs + ms;
    this.lastGroup = group ?? this.lastGroup;
    const last = this.spans.at(-1);
    if (last?.endMs === startMs && last.group === group && last.waits === waits) last.endMs = this.freeMs;
    else this.spans.push({ startMs, endMs: this.freeMs, group, waits });
    return this.freeMs;
  }
}
