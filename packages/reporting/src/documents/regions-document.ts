import type { CheckpointedRegion, KeptCause } from "@remat/memory/regions";
import { countReplayedOps } from "@remat/trace";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { RegionCause, RegionExcess, RegionsSummary } from "../summarize-regions.js";

/**
 * Returns a report on checkpointed regions: the memory that each keeps after it ends, the avoidable part of that
 * memory, and the reason why that part is kept alive. The records have one row for each storage that outlives its
 * region, and for each flaw.
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
      `${model}: no checkpointed region in this run.`,
      framework === "tfjs"
        ? `In TensorFlow.js, regions are blocks under checkpoint and checkpointLayers of @remat/checkpoint, and functions under tf.customGrad whose gradient recomputes them.${replayed === 0 ? "" : ` A plan or a budget recomputed ${count(replayed, "op")} here one by one. remat memory shows what it kept.`} remat compare MODEL --checkpoint 'layers.*' shows the memory of a step with recomputed modules.`
        : "In PyTorch, regions are calls of torch.utils.checkpoint, if the run was recorded with remat.record or remat.export of this version.",
      ...told,
    ];
  const excess = excesses.filter(({ cause }) => isHeldAfter(cause)).reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    `${model}: ${count(regions.length, "checkpointed region")}. ${size(heldBytes)} of their tensors stays alive afterwards, ${excess === 0 ? `all of it results${excesses.some(({ cause }) => cause === "unrepeatable") ? ", tensors saved by a policy or tensors that cannot be recomputed" : " or tensors saved by a policy"}` : `${size(excess)} of it unnecessarily`}.`,
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
    title: "Regions, and memory still in use after them",
    headers: ["Region", "Line", "Recomputed", "Allocated", "Still live", "Results", "By policy", "Other"],
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
    title: "Other tensors that stay alive",
    headers: ["Size", "Regions", "Allocated by", "Line", "Reason"],
    worth: [9, 6, 5, 7, 8],
    names: ["Line"],
    wraps: "Reason",
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

/** Explains in a sentence why a region keeps more memory than necessary, and how to fix it. */
function describeCause({ cause, saver }: Pick<RegionExcess, "cause" | "saver">, isTfjs: boolean): string {
  switch (cause) {
    case "savedForNothing":
      return "its gradient function gets it from save([…]) but also recomputes it: leave it out of save";
    case "unrepeatable":
      return "made by random kernels or by JavaScript, so a second run would give other values: it must stay alive; make it smaller";
    case "readOutside":
      return saver === undefined
        ? "recomputed before the backward pass because the program read its values: return the value that is read, such as its mean, from the block"
        : `recomputed before the backward pass for ${saver}: move that use into the block, or return the tensor`;
    case "savedOutside":
      return `saved outside by ${saver ?? "an op"}: move that use into the region, or return less`;
    case "viewReturned":
      return "the region returns a view of a larger storage: return a copy (.clone()) of that part";
    case "program":
      if (isTfjs) return "kept by the program (tf.keep), not saved: dispose of it after reading it";
      return "referenced by the program (a list, an attribute, a hook, a closure or a cache), not saved: keep a value computed from it instead (its mean, .item()); .detach() does not free it";
    case "neverRecomputed":
      if (isTfjs) return "never recomputed, since no backward pass needed it: call it without checkpointing";
      return "never recomputed, since no backward pass needed it: run it without checkpointing, or under torch.no_grad()";
    case "viewGiven":
      return "its input is a view, which keeps the whole storage alive: pass a copy (.clone()) of that part";
    case "reentrant":
      return "reentrant: its results are also recomputed, although nothing reads them; use_reentrant=False avoids that";
  }
}

function timesRecomputed({ recomputed, kept }: RegionsSummary["regions"][number]): string {
  if (recomputed === 0) return kept.some(({ cause }) => cause === "readOutside") ? "outside only" : "never";
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
