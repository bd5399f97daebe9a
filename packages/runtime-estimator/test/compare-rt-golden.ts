import { readPyTorchTrace } from "@remat/pytorch";
import type { Golden } from "@remat/testkit";
import type { DeviceSpec } from "@remat/trace";
import { moduleRuntimes, modulewiseText, priceTrace, totalText } from "../src/index.js";

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

/** Whether the golden's op events say what they cost. */
export const hasOpCosts = (golden: Golden): boolean => answeredOps(golden).some((event) => event.t !== undefined);

/**
 * FLOPs, bytes and milliseconds of every op event. They come from our reading of the file: shapes, strides, dtypes and arguments of
 * the event, never its `flops`, `rb`, `wb` and `t`.
 */
export const compareOpCosts: Comparison = (golden) => {
  const { ops } = priceTrace(readPyTorchTrace(golden), deviceOf(golden));
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
  const trace = priceTrace(readPyTorchTrace(golden), deviceOf(golden));
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
  // The events hold ops only, so execution orders cannot be derived here: the golden's own are passed through to the texts. Ours are
  // tested on the memory goldens of the same models, which have module events.
  for (const [pre, post] of [
    ["mod_fw_pre_order", "mod_fw_post_order"] as const,
    ["mod_bw_pre_order", "mod_bw_post_order"] as const,
  ]) {
    // What can be said without module events: every call that begins ends.
    // But for those with an in-place op, whose end is not told, and those whose result it took away, whose beginning is not.
    const isBackward = pre === "mod_bw_pre_order";
    const begins = results[pre].filter((fqn) => !(isBackward && unended.has(fqn)));
    const ends = results[post].filter((fqn) => !(isBackward && unended.size > 0 && !results[pre].includes(fqn)));
    const [begun, ended] = [begins, ends].map((order) => [...order].sort().join(", "));
    if (begun !== ended) return `${pre} and ${post} hold different calls: ${begun}; ${ended}`;
  }
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

/** Modules whose backward pass begins and is not told to end, and that are active while the one around them no longer is. */
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
