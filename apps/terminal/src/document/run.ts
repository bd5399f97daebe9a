import type { DeviceSpec } from "@remat/trace";
import { rememberLast } from "./memoize.js";
import { hasOwnRuntimes, type Settings } from "./settings.js";
import type { TraceDocument } from "./trace-document.js";

/** What is open: a trace, and one to compare it with. */
export interface Run {
  /** The trace as it is shown, under the settings in force. */
  readonly document: TraceDocument;
  /** As it was opened: what the settings are compared with. */
  readonly opened: TraceDocument;
  readonly other: TraceDocument | undefined;
}

/** Two documents beside each other. */
export interface ComparedDocuments {
  readonly documents: readonly [TraceDocument, TraceDocument];
  readonly names: readonly [string, string];
}

const pricedFor = rememberLast((document: TraceDocument, device: DeviceSpec | undefined) => document.with({ device }));

/**
 * Returns what is compared: two traces; the recorded runtimes beside predicted ones; or, of a trace without runtimes of its own, the
 * settings that it was opened with beside those in force. `device` is what is predicted for where none is chosen.
 */
export function comparedDocuments({ document, opened, other }: Run, device: DeviceSpec): ComparedDocuments {
  if (other !== undefined) return { documents: [document, other], names: [document.name.title, other.name.title] };
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

function nameOf({ device, worldSize }: Settings): string {
  return `${device?.name ?? "as recorded"}${worldSize > 1 ? `, one of ${worldSize} ranks` : ""}`;
}
