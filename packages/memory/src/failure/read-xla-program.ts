import type { CompiledProgram, ProgramBuffer } from "./allocator-log.js";
import { looseSizeAt } from "./size-in-text.js";
import { matchesOf, templateOf } from "./text-template.js";

/** XLA lists more buffers than help to find the cause. */
const mostBuffers = 32;

/** The fields of XLA's statistics: on GPUs (`BufferAssignment`), then on TPUs. */
const templates = {
  parameterBytes: ["parameter allocation: {size:loose}", " arguments {size:loose}"],
  constantBytes: ["constant allocation: {size:loose}"],
  outputBytes: ["maybe_live_out allocation: {size:loose}", "Output size {size:loose}"],
  temporaryBytes: ["preallocated temp allocation: {size:loose}", "HLO temp {size:loose}"],
  totalBytes: ["total allocation: {size:loose}", "Total hbm usage >= {size:loose}"],
  fragmentationBytes: ["total fragmentation: {size:loose}", "fragmentation ({size:loose})"],
} as const;

/**
 * Reads the memory of a compiled program from the error of XLA, with white space collapsed. Returns undefined if the
 * text has no such statistics. The formats are those of `BufferAssignment::Stats::ToString` and of the compiler for
 * TPUs.
 *
 * @internal
 */
export function readXlaProgram(text: string): CompiledProgram | undefined {
  const sizes = Object.fromEntries(
    Object.entries(templates).map(([field, all]) => [field, firstSize(all, text)]),
  ) as Record<keyof typeof templates, number | undefined>;
  const buffers = buffersIn(text);
  return buffers.length === 0 && Object.values(sizes).every((each) => each === undefined)
    ? undefined
    : { ...sizes, buffers };
}

function firstSize(all: readonly string[], text: string): number | undefined {
  for (const each of all) {
    const [found] = matchesOf(templateOf(each), text);
    const size = found?.get("size");
    if (typeof size === "number") return size;
  }
  return undefined;
}

const bufferStart = " Size: ";

function buffersIn(text: string): readonly ProgramBuffer[] {
  const buffers: ProgramBuffer[] = [];
  let at = text.indexOf(bufferStart);
  while (at >= 0 && buffers.length < mostBuffers) {
    const next = text.indexOf(bufferStart, at + bufferStart.length);
    const entry = text.slice(at + bufferStart.length, next < 0 ? text.length : next);
    const size = looseSizeAt(entry, 0);
    if (size !== undefined) buffers.push({ bytes: size.bytes, ...detailsOf(entry) });
    at = next;
  }
  return buffers;
}

function detailsOf(entry: string): Omit<ProgramBuffer, "bytes"> {
  const file = wordAfter(entry, 'source_file="', '"');
  const line = /^\d{1,9}/.exec(wordAfter(entry, "source_line=", " ") ?? "")?.[0];
  return {
    op: wordAfter(entry, 'op_name="', '"'),
    line: file === undefined ? undefined : line === undefined ? file : `${file}:${line}`,
    shape: wordAfter(entry, "Shape: ", " ")?.split("{")[0],
  };
}

function wordAfter(text: string, before: string, after: string): string | undefined {
  const at = text.indexOf(before);
  if (at < 0) return undefined;
  const word = text.slice(at + before.length, at + before.length + 1000);
  const end = word.indexOf(after);
  return end < 0 ? word : word.slice(0, end);
}
