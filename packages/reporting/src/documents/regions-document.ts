import type { CheckpointedRegion, KeptCause } from "@remat/memory/regions";
import { countReplayedOps } from "@remat/trace";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { RegionCause, RegionExcess, RegionsSummary } from "../summarize-regions.js";

/**
 * Returns a report on checkpointed regions: the memory that each keeps after it ends, the avoidable part of it, and
 * what keeps that alive. The records have one row for each storage that outlives its region, and for each flaw.
 */
export function regionsDocument(
  summary: RegionsSummary,
  { units = "auto", limit = Number.POSITIVE_INFINITY }: { readonly units?: SizeUnit; readonly limit?: number } = {},
): OutputDocument {
  const size = sizeFormat(units);
  return {
    parts: () => [
      { kind: "text", lines: describeRegions(summary, size) },
      ...(summary.regions.length === 0 ? [] : [regionsTable(summary, size, limit)]),
      ...(summary.excesses.length === 0 ? [] : [excessesTable(summary, size, limit)]),
    ],
    records: () => recordsOf(summary),
    value: () => valueOf(summary),
  };
}

function describeRegions(
  { model, framework, regions, heldBytes, excesses, notes, trace }: RegionsSummary,
  size: SizeFormat,
): string[] {
  const replayed = countReplayedOps(trace);
  const told = notes.map((note) => `note: ${note}`);
  if (regions.length === 0)
    return [
      `${model}: no checkpointed region in this run`,
      framework === "tfjs"
        ? `A run of TensorFlow.js tells of blocks under checkpoint and checkpointLayers of @remat/checkpoint, and of functions under tf.customGrad whose gradient computes again what they had computed.${replayed === 0 ? "" : ` A plan or a budget had ${count(replayed, "op")} run again here, one by one: remat memory tells what it kept.`} remat compare MODEL --checkpoint 'layers.*' tells what a step holds where modules are recomputed.`
        : "A run of PyTorch tells of those under torch.utils.checkpoint, where it was recorded by remat.record or remat.export of this version.",
      ...told,
    ];
  const excess = excesses.filter(({ cause }) => isHeldAfter(cause)).reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    `${model}: ${count(regions.length, "checkpointed region")}; ${size(heldBytes)} of what they made is held when they are over, ${excess === 0 ? `all of it results${excesses.some(({ cause }) => cause === "unrepeatable") ? ", saved by a policy, or what cannot be recomputed" : ", or saved by a policy"}` : `of which ${size(excess)} need not be`}`,
    ...told,
  ];
}

function isHeldAfter(cause: RegionCause): boolean {
  return cause !== "neverRecomputed" && cause !== "viewGiven" && cause !== "reentrant" && cause !== "unrepeatable";
}

function regionsTable({ regions, trace }: RegionsSummary, size: SizeFormat, limit: number): DocumentPart {
  const shown = regions.slice(0, limit);
  const left = regions.length - shown.length;
  return {
    kind: "table",
    title: "Regions, and what is held when they are over",
    headers: ["Region", "Line", "Recomputed", "Made", "Held", "Results", "By policy", "Besides"],
    worth: [10, 4, 3, 5, 8, 6, 2, 9],
    names: ["Region", "Line"],
    rows: shown.map((region) => [
      nameOf(region, trace.scopes[region.scope].name),
      trace.scopes[region.scope].line ?? "",
      timesRecomputed(region),
      size(region.madeBytes),
      size(region.heldBytes),
      size(heldFor(region, "result")),
      size(heldFor(region, "policy")),
      size(region.heldBytes - heldFor(region, "result") - heldFor(region, "policy")),
    ]),
    ...(left > 0 && { remark: `and ${count(left, "region")} more: --top ${regions.length}` }),
  };
}

function excessesTable({ excesses, framework, trace }: RegionsSummary, size: SizeFormat, limit: number): DocumentPart {
  return {
    kind: "table",
    title: "Besides, and why",
    headers: ["Size", "Regions", "Made by", "Line", "Why"],
    worth: [9, 6, 5, 7, 8],
    names: ["Line"],
    wraps: "Why",
    rows: excesses
      .slice(0, limit)
      .map((excess) => [
        size(excess.bytes),
        excess.regions.length === 1
          ? nameOf(excess.regions[0], trace.scopes[excess.regions[0].scope].name)
          : String(excess.regions.length),
        excess.maker ?? "",
        excess.makerLine ?? "",
        describeCause(excess, framework === "tfjs"),
      ]),
  };
}

/** Explains in a sentence why a region keeps more memory than necessary, and what to do. */
function describeCause({ cause, saver }: Pick<RegionExcess, "cause" | "saver">, isTfjs: boolean): string {
  switch (cause) {
    case "savedForNothing":
      return "its gradient function is given it by save([…]), and computes it all the same: leave it out of save";
    case "unrepeatable":
      return "made by random kernels or by JavaScript, which would make something else if they ran again: it has to be held; have them make less, or on something smaller";
    case "readOutside":
      return saver === undefined
        ? "recomputed before the backward pass, because the program read its values: return that value from the block, such as its mean"
        : `computed again before the backward pass, for ${saver}: have what uses it in the block, or return it`;
    case "savedOutside":
      return `saved outside by ${saver ?? "an op"}: have what uses it in the region, or return less`;
    case "viewReturned":
      return "the rest of a storage that the region returns a view of: return a copy (.clone()) of that part";
    case "program":
      if (isTfjs) return "the program keeps it (tf.keep): dispose of it after reading it";
      return "the program references it (a list, attribute, hook, closure or cache): keep a value computed from it instead, such as .item(). A .detach()ed tensor uses as much memory";
    case "neverRecomputed":
      if (isTfjs) return "never recomputed, because no backward pass needs it: call it without checkpointing";
      return "never recomputed, because no backward pass needs it: run it without checkpointing, or under torch.no_grad()";
    case "viewGiven":
      return "given a view, with which all of its storage is held: give a copy (.clone()) of that part";
    case "reentrant":
      return "re-entrant: its results are also recomputed, though unused; use_reentrant=False avoids that";
  }
}

function timesRecomputed({ recomputed, kept }: RegionsSummary["regions"][number]): string {
  if (recomputed === 0) return kept.some(({ cause }) => cause === "readOutside") ? "outside alone" : "never";
  return recomputed === 1 ? "once" : `${recomputed} times`;
}

function recordsOf({ regions, trace }: RegionsSummary): ReturnType<OutputDocument["records"]> {
  return {
    columns: ["region", "line", "form", "cause", "bytes", "op", "opLine", "saver", "saverLine"],
    rows: regions.flatMap((region) => {
      const { name, line = "" } = trace.scopes[region.scope];
      const place = [nameOf(region, name), line, region.form];
      return [
        ...region.kept.map(({ cause, bytes, maker, saver }) => [
          ...place,
          cause,
          bytes,
          maker === undefined ? "" : trace.opName(maker),
          maker === undefined ? "" : (trace.opLine(maker) ?? ""),
          saver?.op !== undefined
            ? trace.opName(saver.op)
            : saver?.scope === undefined
              ? ""
              : trace.scopes[saver.scope].name,
          saver?.op !== undefined ? (trace.opLine(saver.op) ?? "") : "",
        ]),
        ...region.flaws.map(({ flaw, bytes }) => [...place, flaw, bytes, "", "", "", ""]),
      ];
    }),
  };
}

function valueOf({ model, heldBytes, regions, excesses, trace, notes }: RegionsSummary): unknown {
  return {
    model,
    heldBytes,
    notes,
    regions: regions.map(({ scope, ...region }) => ({
      name: trace.scopes[scope].name,
      line: trace.scopes[scope].line ?? null,
      ...region,
      module: region.module ?? null,
    })),
    excesses: excesses.map(({ regions: held, ...excess }) => ({ ...excess, regions: held.map(({ scope }) => scope) })),
  };
}

function nameOf({ module }: CheckpointedRegion, name: string): string {
  return module ?? name;
}

function heldFor({ kept }: CheckpointedRegion, cause: KeptCause): number {
  return kept.filter((each) => each.cause === cause).reduce((sum, { bytes }) => sum + bytes, 0);
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
