import type { DeviceNetwork, Trace } from "@remat/trace";
import { ringMs } from "./network.js";
import type { FsdpSimulation } from "./simulate-fsdp.js";

/** What moves bytes on a rank and between ranks. */
export interface StreamSpeeds {
  readonly network: DeviceNetwork;
  /** Of the device's memory, in GB/s: copies in and out of buffers read and write it. */
  readonly memoryGBps: number;
  /** Between device and host, in GB/s, each way; needed where a plan offloads. */
  readonly linkGBps?: number;
}

/** What a stream does for a while, in milliseconds from the start. */
export interface StreamSpan {
  readonly startMs: number;
  readonly endMs: number;
  /** Of compute: undefined for ops of the model. Else the group, by number, that it is done for. */
  readonly group: number | undefined;
  /** Of compute: whether it waits. */
  readonly waits: boolean;
}

/** One stream of a rank. */
export interface StreamLane {
  readonly name: "compute" | "all-gather" | "reduce-scatter" | "all-reduce";
  readonly spans: readonly StreamSpan[];
}

/** What communication costs a group of parameters, in milliseconds of the run. */
export interface GroupCommunication {
  /** What its collectives take. */
  readonly gatherMs: number;
  readonly reduceMs: number;
  /** How long the ops of the model wait for them. */
  readonly exposedMs: number;
}

/** When a rank does what. */
export interface StreamSchedule {
  readonly totalMs: number;
  /** Of it, in ops of the model. */
  readonly computeMs: number;
  /** Of it, in copies in and out of the buffers of collectives. */
  readonly copyMs: number;
  /** Of it, waiting for collectives and transfers. */
  readonly exposedMs: number;
  readonly lanes: readonly StreamLane[];
  /** By group of the simulation. */
  readonly groups: readonly GroupCommunication[];
}

/**
 * Schedules what a simulated rank does on its streams, as FSDP2 orders them: gathers run beside compute, one after the other, each from when the one before was copied out; compute
 * waits for what it is about to use, and before it fills a buffer of a reduction for the one before; at the end of the backward pass all is waited for. Collectives take what rings
 * take ({@link ringMs}). The host is taken to be ahead of the device, and ops of the model to take as long as `trace` says.
 *
 * @param trace the simulation's, with runtimes
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
  /** By group: when what is gathered is there. */
  const ready = groups.map(() => 0);
  /** Reductions whose buffers are still held: when each is over, and whose it is. */
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

  /** Does something from `startMs` on; returns when it is over. What goes on as before is one span. */
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
