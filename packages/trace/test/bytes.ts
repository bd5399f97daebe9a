import type { Trace } from "../src/index.js";
import { writeTrace } from "../src/index.js";

export function joinBytes(pieces: Iterable<Uint8Array>): Uint8Array {
  return new Uint8Array(Buffer.concat([...pieces]));
}

/** Bytes in pieces that end where `cuts` say, so that a reader meets them anywhere. */
export function cutBytes(bytes: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}

export function fileOf(trace: Trace, options: { gzip?: boolean } = {}): Uint8Array {
  return joinBytes(writeTrace(trace, options));
}

export function linesOf(trace: Trace): string[] {
  return new TextDecoder().decode(fileOf(trace)).trimEnd().split("\n");
}
