import type { Trace } from "./trace.js";

/** Reasons why a trace ends before its end record although its records are valid. @internal */
export const cutReasons = {
  gzip: "the gzip data breaks off",
  record: "there is no end record",
  line: "the last line breaks off",
} as const;

const cuts: ReadonlySet<string> = new Set(Object.values(cutReasons));

/**
 * Returns a clause with the place where a trace is cut short or damaged, and the likely cause. Returns undefined for a
 * complete trace.
 *
 * @example
 * truncationCause(trace); // "the trace is cut short after line 6 (there is no end record), because recording was stopped or the disk was full"
 */
export function truncationCause({ truncated }: Pick<Trace, "truncated">): string | undefined {
  if (truncated === undefined) return undefined;
  const { line, reason } = truncated;
  return cuts.has(reason)
    ? `the trace is cut short after line ${line} (${reason}), because recording was stopped or the disk was full`
    : `the trace is damaged after line ${line} (${reason})`;
}

/**
 * Returns a sentence with the place where a trace is cut short or damaged, the cause, the effect on its figures, and
 * the next step. Returns undefined for a complete trace.
 */
export function truncationNote(trace: Pick<Trace, "truncated">): string | undefined {
  const cause = truncationCause(trace);
  return cause && `${cause}: all figures are for the part before. Record it again`;
}

/**
 * Returns the notes that people must see next to a trace's figures: the notes of the trace, and a note if it is cut
 * short or damaged.
 *
 * @example
 * for (const note of traceNotes(trace)) console.warn(note);
 */
export function traceNotes(trace: Pick<Trace, "header" | "truncated">): readonly string[] {
  const note = truncationNote(trace);
  return [...(trace.header.notes ?? []), ...(note === undefined ? [] : [note])];
}

/** Returns a copy of a trace with more notes. @example `withNotes(trace, ["timed on another machine"])` */
export function withNotes(trace: Trace, notes: readonly string[]): Trace {
  return trace.withHeader({ ...trace.header, notes: [...(trace.header.notes ?? []), ...notes] });
}
