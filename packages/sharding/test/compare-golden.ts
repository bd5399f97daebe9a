import {
  fsdpTrackerLabels,
  MemTracker,
  type ModuleMemory,
  memTrackerLabels,
  moduleStateLabels,
} from "@remat/memory/tracker";
import { readPyTorchTrace } from "@remat/pytorch";
import type { Golden } from "@remat/testkit";
import { EventKind, type MemorySnapshot, type Trace } from "@remat/trace";
import { FSDPMemTracker } from "../src/index.js";
import { fsdpStateLabels } from "../src/state-labels.js";

type Json = Record<string, unknown>;
type Tracker = MemTracker | FSDPMemTracker;

/**
 * Follows a `mem-oracle/1` or `fsdp-oracle/1` golden with our tracker and compares every answer that the file holds: totals after each op,
 * snapshots at each mark, sizes at each `del`, statistics by module and state, and texts. Returns what differs; nothing if all agree.
 */
export function compareMemoryGolden(golden: Golden): string[] {
  const trace = readPyTorchTrace(golden);
  const sharded = golden.schema === "fsdp-oracle/1";
  const tracker: Tracker = sharded ? new FSDPMemTracker() : new MemTracker();
  const differences: string[] = [];
  const compare = (what: string, ours: unknown, theirs: unknown): void => {
    const [a, b] = [stable(ours), stable(theirs)];
    if (a !== b) differences.push(`${what}: found ${shorten(a)}, expected ${shorten(b)}`);
  };
  const events = golden["events"] as Json[];
  const answers = events
    .slice(0, events.length - afterResults(events))
    .filter((e) => (e["e"] === "op" && e["raised"] === undefined) || e["e"] === "mark" || e["e"] === "del");
  let next = 0;
  const { kind, subject } = trace.events;
  const end = endOfResults(golden, trace);
  const ownMarks = new Set(["optimizerStates", "resetModStats", "enter", "exit"]);
  for (let event = 0; event < end; event++) {
    const isMark = kind[event] === EventKind.mark && !ownMarks.has(trace.strings[subject[event]]);
    if (kind[event] === EventKind.free) {
      tracker.update(trace, event);
      const bytes = totalOf(tracker);
      tracker.update(trace, event + 1);
      compare(`event ${event} del`, bytes - totalOf(tracker), answers[next++]["m"]);
    } else if (kind[event] === EventKind.op || isMark) {
      tracker.update(trace, event + 1);
      const answer = answers[next++];
      if (isMark) {
        compare(`mark ${answer["name"]} current`, upstream(tracker.snapshot("current"), sharded), answer["current"]);
        compare(`mark ${answer["name"]} peak`, upstream(tracker.snapshot("peak"), sharded), answer["peak"]);
      } else if (answer["cur"] !== undefined)
        compare(`op ${subject[event]}`, totals(tracker.snapshot()), answer["cur"]);
    }
  }
  compare("number of answers", next, answers.length);
  const results = golden["results"] as Json;
  compare("current", upstream(tracker.snapshot("current"), sharded), results["current"]);
  compare("peak", upstream(tracker.snapshot("peak"), sharded), results["peak"]);
  const stats = (tracker.modules() as ModuleMemory<string>[]).map((module) => statsOf(module, sharded));
  compare(
    "order of modules",
    stats.map((s) => s["fqn"]),
    (results["stats"] as Json[]).map((s) => s["fqn"]),
  );
  const unended = new Set(unendedModules(golden));
  for (const theirs of results["stats"] as Json[]) {
    const ours = stats.find((s) => s["fqn"] === theirs["fqn"]);
    if (unended.has(theirs["fqn"] as string)) {
      const wrong = unendedDifference(ours ?? {}, theirs);
      if (wrong !== undefined) differences.push(`module ${theirs["fqn"]} ${wrong}`);
    }
    for (const key of new Set([...Object.keys(theirs), ...Object.keys(ours ?? {})]))
      if (!(unended.has(theirs["fqn"] as string) && (key === "local_peak" || key === "snapshots")))
        compare(`module ${theirs["fqn"]} ${key}`, ours?.[key], theirs[key]);
  }
  for (const [name, text] of Object.entries(results["text"] as Json))
    compare(`text ${name}`, textOf(tracker, name, sharded), text);
  return differences;
}

/**
 * Modules whose backward pass begins and, in upstream's eyes, never ends: those with an in-place op on the result of the module before. Upstream has
 * them active to the end of the run, so that their peak is that of others.
 */
function unendedModules(golden: Golden): string[] {
  const open = new Map<string, number>();
  for (const { e, m } of golden["events"] as Json[]) {
    const fqn = (golden["fqns"] as string[])[m as number];
    if (e === "pre_bw") open.set(fqn, (open.get(fqn) ?? 0) + 1);
    else if (e === "post_bw" && open.has(fqn)) open.set(fqn, (open.get(fqn) ?? 0) - 1);
  }
  return [...open].filter(([, count]) => count > 0).map(([fqn]) => fqn);
}

/**
 * For such a module remat's value is at most upstream's and at least the memory at the beginning of the pass;
 * everything else is equal.
 */
function unendedDifference(ours: Json, theirs: Json): string | undefined {
  const [own, other] = [ours, theirs].map((stats) => structuredClone(stats["snapshots"]) as Record<string, Bytes[]>);
  const [least, most] = [own["Pre-Backward"]?.at(-1), theirs["local_peak"] as Record<string, number>];
  for (const [device, bytes] of Object.entries((ours["local_peak"] ?? {}) as Record<string, number>)) {
    if (!(bytes <= (most[device] ?? 0) && bytes >= (least?.[device]?.["Total"] ?? Infinity)))
      return `local_peak on ${device}: found ${bytes}, expected from ${least?.[device]?.["Total"]} to ${most[device]}`;
    if (own["Peak-Backward"]?.at(-1)?.[device]?.["Total"] !== bytes) return `local_peak and Peak-Backward on ${device}`;
    if (other["Peak-Backward"]?.at(-1)?.[device]?.["Total"] !== most[device]) return `upstream's peaks on ${device}`;
  }
  own["Peak-Backward"].pop();
  other["Peak-Backward"].pop();
  return stable(own) === stable(other)
    ? undefined
    : `snapshots: found ${shorten(stable(own))}, expected ${shorten(stable(other))}`;
}

/** Which modules' peaks upstream takes from after their backward pass, and by how much they are too large. */
export function activityAdvantage(golden: Golden): string | undefined {
  if (golden.schema !== "mem-oracle/1") return undefined;
  const unended = unendedModules(golden);
  if (unended.length === 0) return undefined;
  const tracker = new MemTracker().update(readPyTorchTrace(golden));
  const device = golden["config"].device as string;
  let most = 0;
  for (const module of tracker.modules()) {
    const theirs = (golden["results"].stats as Json[]).find((s) => s["fqn"] === module.fqn)?.["local_peak"] as
      | Record<string, number>
      | undefined;
    if (unended.includes(module.fqn))
      most = Math.max(most, (theirs?.[device] ?? 0) - (module.localPeakBytes[device] ?? 0));
  }
  return `peaks of modules with in-place ops (${unended.length}) end with their backward pass: up to ${Math.round(most / 1024)} KiB less than PyTorch's, which go on to the end`;
}

type Bytes = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** How many events were written after the results had been taken: at the exit, or at the last look at memory. */
function afterResults(events: readonly Json[]): number {
  return events.length - 1 - events.findLastIndex((e) => e["e"] === "exit" || e["e"] === "snapshot");
}

/** The end of the trace that the results are of: what follows them are frees, one event each. */
function endOfResults(golden: Golden, trace: Trace): number {
  return trace.events.count - afterResults(golden["events"] as Json[]);
}

function textOf(tracker: Tracker, name: string, sharded: boolean): string {
  switch (name) {
    case "snapshot_peak":
      return tracker.displaySnapshot("peak", "MiB", false);
    case "snapshot_peak_tabular":
      return tracker.displaySnapshot("peak", "MiB", true);
    case "snapshot_current_B":
      return tracker.displaySnapshot("current", "B", false);
    case "modulewise":
      return tracker.displayModulewiseSnapshots(sharded ? 3 : 2, "MiB", false);
    default:
      return tracker.displayModulewiseSnapshots(sharded ? 3 : 2, sharded ? "MiB" : "KiB", true);
  }
}

/** A snapshot as the goldens write it. */
export function upstream(snapshot: readonly MemorySnapshot[], sharded: boolean): Json {
  const names: Readonly<Record<string, string>> = (sharded ? fsdpTrackerLabels : memTrackerLabels).labels;
  return Object.fromEntries(
    snapshot.map(({ device, totalBytes, bytesByCategory }) => [
      device,
      {
        ...Object.fromEntries(Object.entries(bytesByCategory).map(([name, bytes]) => [names[name] ?? name, bytes])),
        Total: totalBytes,
      },
    ]),
  );
}

export function statsOf(module: ModuleMemory<string>, sharded: boolean): Json {
  const states: Readonly<Record<string, string>> = sharded ? fsdpStateLabels : moduleStateLabels;
  return {
    fqn: module.fqn,
    local_peak: module.localPeakBytes,
    ...(!sharded && {
      parameter_mem: module.parameterBytes,
      buffer_mem: module.bufferBytes,
      input_mem: module.inputBytes,
      output_mem: module.outputBytes,
    }),
    snapshots: Object.fromEntries(
      [...module.snapshots].map(([state, list]) => [states[state], list.map((s) => upstream(s, sharded))]),
    ),
  };
}

function totals(snapshot: readonly MemorySnapshot[]): Json {
  return Object.fromEntries(snapshot.map(({ device, totalBytes }) => [device, totalBytes]));
}

function totalOf(tracker: Tracker): number {
  return tracker.snapshot().reduce((sum, { totalBytes }) => sum + totalBytes, 0);
}

function stable(value: unknown): string {
  return (
    JSON.stringify(value, (_, v) =>
      typeof v === "object" && v !== null && !Array.isArray(v)
        ? Object.fromEntries(Object.entries(v as Json).sort(([a], [b]) => (a < b ? -1 : 1)))
        : v,
    ) ?? "nothing"
  );
}

function shorten(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}
