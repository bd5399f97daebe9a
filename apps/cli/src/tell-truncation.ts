import { displaySafe } from "@remat/text-table";
import { type Trace, truncationNote } from "@remat/trace";
import type { ConsoleIo } from "./console-io.js";

/** Tells on standard error that a trace breaks off; nothing of one that is whole. */
export function tellTruncation(name: string, trace: Trace, io: Pick<ConsoleIo, "stderr">): void {
  const note = truncationNote(trace);
  if (note !== undefined) io.stderr.write(`remat: ${displaySafe(name)}: ${note}\n`);
}
