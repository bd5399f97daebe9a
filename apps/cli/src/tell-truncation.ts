import { type Trace, truncationNote } from "@remat/trace";
import { terminal } from "@remat/trace/emit";
import type { ConsoleIo } from "./console-io.js";

/** Tells on standard error that a trace is cut short or damaged; nothing of a whole one. */
export function tellTruncation(name: string, trace: Trace, io: Pick<ConsoleIo, "stderr">): void {
  const note = truncationNote(trace);
  if (note !== undefined) io.stderr.write(terminal`remat: ${name}: ${note}.\n`);
}
