import { readPyTorchTrace } from "@remat/pytorch";
import type { Golden } from "@remat/testkit";
import type { DeviceSpec } from "@remat/trace";
import { moduleRuntimes, modulewiseText, priceTrace } from "../src/index.js";
import { totalText } from "../src/modulewise-text.js";

/** Upstream's answers in a golden file against ours: what differs first, both sides, or `undefined`. */
export type Comparison = (golden: Golden) => string | undefined;

/** The figures that upstream was given in place of a real device's. */
function deviceOf(golden: Golden): DeviceSpec {
  const { tflops, dram_gbps, min_allocate } = golden["config"];
  return { name: "golden", tflops, memoryGBps: dram_gbps, allocationUnitBytes: min_allocate };
}

/** Op events with upstream's answers; the op that it raised on has none. */
// biome-ignore lint/suspicious/noExplicitAny: events of a golden file
const answeredOps = (golden: Golden): any[] =>
  // biome-ignore lint/suspicious/noExplicitAny: events of a golden file
  (golden["events"] ?? []).filter((event: any) => event.e === "op" && event.raised === undefined);

/** True if the golden's op events contain their costs. */
export const hasOpCosts = (golden: Golden): boolean => answeredOps(golden).some((event) => event.t !== undefined);

/**
 * FLOPs, bytes and milliseconds of every op event. They come from our reading of the file: shapes, strides, dtypes and arguments of
 * the event, never its `flops`, `rb`, `wb` and `t`.
 */
export const compareOpCosts: Comparison = (golden) => {
  const { ops } = priceTrace(readPyTorchTrace(golden), deviceOf(golden), { asPytorch: true });
  const events = answeredOps(golden);
  if (events.length !== ops.count) return `${events.length} op events, ours ${ops.count}`;
  for (const [op, event] of events.entries()) {
    const name = `op ${op} (${golden["funcs"][event.f].name})`;
    const fields = [
      ["flops", event.flops ?? 0, ops.flops[op]],
      ["rb", event.rb ?? 0, ops.bytesRead[op]],
      ["wb", event.wb ?? 0, ops.bytesWritten[op]],
    ] as const;
    for (const [field, expected, found] of fields)
      if (expected !== found) return `${name}: ${field} ${expected}, ours ${found}`;
    if (!near(event.t, ops.runtimeMs[op])) return `${name}: t ${event.t}, ours ${ops.runtimeMs[op]}`;
  }
  return undefined;
};

/**
 * An `rt-oracle/1` file against what we compute from its events: the first difference, with both sides, or `undefined`. Costs of every op,
 * total, module runtimes and texts; integers and texts exactly, times to 1e-12.
 */
export const compareRtGolden: Comparison = (golden) => compareOpCosts(golden) ?? compareRuntimes(golden);

const compareRuntimes: Comparison = (golden) => {
  const { results } = golden as Golden & { results: RtResults };
  const trace = priceTrace(readPyTorchTrace(golden), deviceOf(golden), { asPytorch: true });
  const { modRuntimes: found, totalRuntimeMs } = moduleRuntimes(trace);
  const modRuntimes = new Map(found);
  if (!near(results.total_runtime, totalRuntimeMs))
    return `total_runtime ${results.total_runtime}, ours ${totalRuntimeMs}`;
  const unended = unendedModules(golden);
  const names = Object.keys(results.mod_runtimes).sort().join(", ");
  const ourNames = [...modRuntimes.keys()].sort().join(", ");
  if (names !== ourNames) return `modules ${names}; ours ${ourNames}`;
  for (const [fqn, { fw = 0, bw = 0 }] of Object.entries(results.mod_runtimes)) {
    const { forwardMs, backwardMs } = modRuntimes.get(fqn) ?? { forwardMs: Number.NaN, backwardMs: Number.NaN };
    if (!near(fw, forwardMs)) return `${fqn} fw ${fw}, ours ${forwardMs}`;
    // PyTorch has a module with an in-place op active to the end of the run; ours ends with the module around it.
    if (unended.has(fqn) ? !(backwardMs <= bw) : !near(bw, backwardMs)) return `${fqn} bw ${bw}, ours ${backwardMs}`;
    if (unended.has(fqn)) modRuntimes.set(fqn, { forwardMs, backwardMs: bw });
  }
  const order = compareOrders(golden, results, unended);
  if (order !== undefined) return order;
  const orders = { modFwPreOrder: results.mod_fw_pre_order, modBwPreOrder: results.mod_bw_pre_order };
  const rowGroups = rowGroupsOf(golden);
  for (const [field, depth] of [["text_depth2", 2] as const, ["text_depth4", 4] as const]) {
    const found = canonicalText(modulewiseText({ modRuntimes, ...orders }, { depth }), rowGroups);
    const expected = canonicalText(results[field], rowGroups);
    if (expected !== found) return `${field}: ${firstLineThatDiffers(expected, found)}`;
  }
  const exitText = totalText("operator-level-cost-model", totalRuntimeMs);
  if (results.exit_text !== exitText) return `exit_text '${results.exit_text}', ours '${exitText}'`;
  return undefined;
};

/**
 * Compares upstream's execution orders with those derived from the active modules of each op. A module begins at the
 * first op at which it is active and ends after the last. If several begin or end between the same two ops, their
 * relative order is unknown. Orders of the backward pass omit modules whose end upstream does not see, and calls that
 * merge with each other.
 */
function compareOrders(golden: Golden, results: RtResults, unended: ReadonlySet<string>): string | undefined {
  const activity = activityOf(golden);
  for (const [field, groups] of [
    ["mod_fw_pre_order", activity.forward.begun] as const,
    ["mod_fw_post_order", activity.forward.ended] as const,
    ["mod_bw_pre_order", activity.backward.begun] as const,
    ["mod_bw_post_order", activity.backward.ended] as const,
  ]) {
    const isBackward = field.startsWith("mod_bw");
    const isComparable = (fqn: string): boolean => !isBackward || !(unended.has(fqn) || isMerged(golden, results, fqn));
    const expected = results[field].filter(isComparable);
    const found = groups.map((group) => group.filter(isComparable));
    let at = 0;
    for (const group of found) {
      const theirs = expected
        .slice(at, at + group.length)
        .sort()
        .join(", ");
      if (theirs !== group.toSorted().join(", ")) return `${field} from ${at}: ${theirs}, ours ${group.join(", ")}`;
      at += group.length;
    }
    if (at < expected.length) return `${field} from ${at}: ${expected.slice(at).join(", ")}, ours none`;
  }
  return undefined;
}

/**
 * Returns whether a module is called several times, or the beginning of its backward pass is hidden by the in-place op
 * of the next. Upstream then counts calls that activity cannot distinguish.
 */
function isMerged(golden: Golden, results: RtResults, fqn: string): boolean {
  const times = (order: readonly string[]): number => order.filter((one) => one === fqn).length;
  if (times(results.mod_fw_pre_order) > 1) return true;
  const endsOnly = results.mod_bw_post_order.includes(fqn) && !results.mod_bw_pre_order.includes(fqn);
  return endsOnly && unendedModules(golden).size > 0;
}

interface Activity {
  /** Modules that begin together, and those that end together, in the order of the ops. */
  readonly begun: readonly (readonly string[])[];
  readonly ended: readonly (readonly string[])[];
}

/** The modules of a runtime golden as its ops tell them; `Global` stands for no module. */
function activityOf(golden: Golden): Readonly<Record<"forward" | "backward", Activity>> {
  const activity = {
    forward: { begun: [] as string[][], ended: [] as string[][] },
    backward: { begun: [] as string[][], ended: [] as string[][] },
  };
  let before = { forward: new Set<string>(), backward: new Set<string>() };
  const become = (now: typeof before): void => {
    for (const pass of ["forward", "backward"] as const) {
      activity[pass].begun.push([...now[pass]].filter((fqn) => !before[pass].has(fqn)));
      activity[pass].ended.push([...before[pass]].filter((fqn) => !now[pass].has(fqn)));
    }
    before = now;
  };
  for (const { bw, p } of answeredOps(golden)) {
    const active = new Set((p as number[]).map((id) => golden["fqns"][id] as string).filter((fqn) => fqn !== "Global"));
    become({ forward: bw ? new Set() : active, backward: bw ? active : new Set() });
  }
  become({ forward: new Set(), backward: new Set() });
  return activity;
}

/** Modules whose backward pass has no recorded end, and that are still active when the surrounding one no longer is. */
export function unendedModules(golden: Golden): ReadonlySet<string> {
  const found = new Set<string>();
  const fqns = golden["fqns"] as readonly string[];
  const times = (order: "mod_bw_pre_order" | "mod_bw_post_order", fqn: string): number =>
    (golden["results"] as RtResults)[order].filter((one) => one === fqn).length;
  const isUntold = (fqn: string): boolean => times("mod_bw_pre_order", fqn) > times("mod_bw_post_order", fqn);
  const untold = new Set((golden["results"] as RtResults).mod_bw_pre_order.filter(isUntold));
  for (const { bw, p } of untold.size === 0 ? [] : answeredOps(golden)) {
    const active = new Set((p as number[]).map((id) => fqns[id]));
    for (const fqn of bw ? untold : []) {
      if (!active.has(fqn)) continue;
      const around = fqn.slice(0, Math.max(0, fqn.lastIndexOf(".")));
      if (around !== "" && fqns.includes(around) && !active.has(around)) found.add(fqn);
    }
  }
  return found;
}

export interface RtResults {
  readonly total_runtime: number;
  readonly mod_runtimes: Readonly<Record<string, { readonly fw?: number; readonly bw?: number }>>;
  readonly mod_fw_pre_order: readonly string[];
  readonly mod_fw_post_order: readonly string[];
  readonly mod_bw_pre_order: readonly string[];
  readonly mod_bw_post_order: readonly string[];
  readonly text_depth2: string;
  readonly text_depth4: string;
  readonly exit_text: string;
}

const near = (expected: number, found: number) => Math.abs(expected - found) <= 1e-12 * Math.abs(expected);

/**
 * For each module the op at which it first ran. Upstream adds modules to its table in the order of a Python set, so rows that come in
 * with one op are in hash order there and in ascending order here.
 */
function rowGroupsOf(golden: Golden): ReadonlyMap<string, number> {
  const groups = new Map<string, number>();
  for (const [op, event] of answeredOps(golden).entries())
    for (const module of event.p) if (!groups.has(golden["fqns"][module])) groups.set(golden["fqns"][module], op);
  return groups;
}

/** The text with the module rows of one group in ascending order; groups keep their places, and all else its own. */
function canonicalText(text: string, groups: ReadonlyMap<string, number>): string {
  const lines = text.split("\n");
  const group = (line: string) => groups.get(/^(\S+) fw: /.exec(line)?.[1] ?? "");
  for (let start = 0; start < lines.length; start++) {
    let end = start + 1;
    if (group(lines[start]) === undefined) continue;
    while (end < lines.length && group(lines[end]) === group(lines[start])) end++;
    lines.splice(start, end - start, ...lines.slice(start, end).sort());
    start = end - 1;
  }
  return lines.join("\n");
}

function firstLineThatDiffers(expected: string, found: string): string {
  const ours = found.split("\n");
  const at = expected.split("\n").findIndex((line, i) => line !== ours[i]);
  return `line ${at + 1} '${expected.split("\n")[at]}', ours '${ours[at]}'`;
}
