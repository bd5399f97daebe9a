import type { Trace } from "./trace.js";

/** Returns that a trace breaks off, where and why, in a sentence; undefined of one that is whole. */
export function truncationNote({ truncated }: Pick<Trace, "truncated">): string | undefined {
  if (truncated === undefined) return undefined;
  return `the trace breaks off after line ${truncated.line} (${truncated.reason}): all figures are of what comes before`;
}

/**
 * Returns what a reader of a trace's figures must know: what its writer says of it, and that it breaks off.
 *
 * @example
 * for (const note of traceNotes(trace)) console.warn(note);
 */
export function traceNotes(trace: Pick<Trace, "header" | "truncated">): readonly string[] {
  const note = truncationNote(trace);
  return [...(trace.header.notes ?? []), ...(note === undefined ? [] : [note])];
}

/** Returns a trace that says this besides what it says already. @example `withNotes(trace, ["timed on another machine"])` */
export function withNotes(trace: Trace, notes: readonly string[]): Trace {
  return trace.withHeader({ ...trace.header, notes: [...(trace.header.notes ?? []), ...notes] });
}
