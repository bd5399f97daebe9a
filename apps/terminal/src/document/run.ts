import type { Verdict } from "@remat/reporting/verdict";
import type { DeviceSpec } from "@remat/trace";
import { rememberLast } from "./memoize.js";
import { hasOwnRuntimes, type Settings } from "./settings.js";
import type { TraceDocument } from "./trace-document.js";

/** The open trace, and one to compare it with. */
export interface Run {
  /** The trace as it is shown, under the current settings. */
  readonly document: TraceDocument;
  /** The trace as it was opened, to compare the settings with. */
  readonly opened: TraceDocument;
  /** Under the same settings as {@link document}, as far as they were changed. */
  readonly other: TraceDocument | undefined;
  /** The full verdict, and the document that it is on. */
  readonly judged?: { readonly document: TraceDocument; readonly verdict: Verdict } | undefined;
  /**
   * Name of the device that was saved for the trace and is used again, although the user did not request it this time.
   */
  readonly rememberedDevice?: string | undefined;
}

/** Returns the verdict on the shown step: the full one if it is known. */
export function verdictOf({ document, judged }: Run): Verdict | undefined {
  return judged?.document === document ? judged.verdict : document.verdict();
}

/** Two documents side by side. */
export interface ComparedDocuments {
  readonly documents: readonly [TraceDocument, TraceDocument];
  readonly names: readonly [string, string];
}

const pricedFor = rememberLast((document: TraceDocument, device: DeviceSpec | undefined) => document.with({ device }));

/**
 * Returns the documents to compare: two traces; or recorded and predicted runtimes; or, for a trace without runtimes of
 * its own, the settings it was opened with and the current ones. `device` is the default for predictions.
 */
export function comparedDocuments({ document, opened, other }: Run, device: DeviceSpec): ComparedDocuments {
  if (other !== undefined) return { documents: [document, other], names: namesBeside(document, other) };
  const { settings } = document;
  if (hasOwnRuntimes(document.recorded)) {
    const predicted = settings.device === undefined ? pricedFor(document, device) : document;
    return {
      documents: [opened.settings.device === undefined ? opened : pricedFor(opened, undefined), predicted],
      names: ["recorded", `predicted for ${nameOf(predicted.settings)}`],
    };
  }
  return {
    documents: [opened, document],
    names: [`as opened: ${nameOf(opened.settings)}`, `now: ${nameOf(settings)}`],
  };
}

/** Returns the names of two documents, with their devices if these differ. */
function namesBeside(document: TraceDocument, other: TraceDocument): readonly [string, string] {
  const [first, second] = [nameOf(document.settings), nameOf(other.settings)];
  if (first === second) return [document.name.title, other.name.title];
  return [`${document.name.title} (${first})`, `${other.name.title} (${second})`];
}

/** Returns a run under other settings. Both sides of a comparison get the same. */
export function withSettings(run: Run, settings: Partial<Settings>): Run {
  const { document, other } = run;
  return { ...run, document: document.with(settings), other: other && changedBeside(other, settings) };
}

/** A document without runtimes of its own keeps its device if the first side returns to recorded runtimes. */
function changedBeside(other: TraceDocument, settings: Partial<Settings>): TraceDocument {
  const { device: _, ...rest } = settings;
  const isGone = "device" in settings && settings.device === undefined && !hasOwnRuntimes(other.recorded);
  return other.with(isGone ? rest : settings);
}

/** Returns the device that both sides of a comparison are estimated for, or undefined if it is not the same. */
export function commonDevice({ document, other }: Run): string | undefined {
  const device = document.settings.device?.name;
  return other !== undefined && device === other.settings.device?.name ? device : undefined;
}

function nameOf({ device, worldSize, sharding }: Settings): string {
  const how = sharding === "" ? "" : ` (${sharding})`;
  return `${device?.name ?? "as recorded"}${worldSize > 1 ? `, one of ${worldSize} ranks${how}` : ""}`;
}
