import { isTooDeep, mostLevels } from "./parse-json-text.js";

/**
 * Bytes are parsed in blocks of at least this size. One call of JSON.parse for many lines is several times faster than
 * one call per line.
 */
const blockBytes = 1 << 18;
const newline = 0x0a;
/**
 * Longest allowed line, longer than any real record. A line is read into memory as a whole, and a few kilobytes of gzip data can contain a line of several gigabytes.
 */
export const mostLineBytes: number = 1 << 26;

/** A line that is not JSON in UTF-8, or longer than any record. @internal */
export class LineError extends Error {
  readonly line: number;
  /** The line itself, if it could be decoded. */
  readonly text: string | undefined;

  constructor(line: number, what: "not UTF-8" | "not JSON" | "too long" | "too deep", text?: string) {
    super(
      what === "too long"
        ? `longer than ${mostLineBytes / 2 ** 20} MiB`
        : what === "too deep"
          ? `nested more than ${mostLevels} levels deep`
          : what,
    );
    this.line = line;
    this.text = text;
  }
}

/**
 * Splits bytes into lines and passes on the JSON value of each. Bytes are decoded by whole lines, so a chunk may end
 * inside a character. @internal
 */
export class RecordLines {
  /** Number of lines passed on. */
  line = 0;
  private readonly utf8 = new TextDecoder("utf-8", { fatal: true });
  private readonly take: (record: unknown, line: number) => void;
  /** Bytes that were pushed and not passed on yet. They are copied, since the caller may reuse its buffer. */
  private buffer = new Uint8Array(2 * blockBytes);
  private bufferBytes = 0;
  private lastNewline = -1;

  constructor(take: (record: unknown, line: number) => void) {
    this.take = take;
  }

  push(bytes: Uint8Array): void {
    const length = this.bufferBytes + bytes.length;
    if (length > this.buffer.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.buffer.length));
      grown.set(this.buffer.subarray(0, this.bufferBytes));
      this.buffer = grown;
    }
    this.buffer.set(bytes, this.bufferBytes);
    const cut = bytes.lastIndexOf(newline);
    if (cut >= 0) this.lastNewline = this.bufferBytes + cut;
    this.bufferBytes = length;
    if (length >= blockBytes) this.takeLines();
    if (this.bufferBytes > mostLineBytes) throw new LineError(this.line + 1, "too long");
  }

  /**
   * Passes on the remaining lines. Returns whether the last line was complete. A last line without a line end is
   * complete if it can be parsed.
   */
  end(): boolean {
    this.takeLines();
    const rest = this.buffer.subarray(0, this.bufferBytes);
    if (rest.length === 0) return true;
    let record: unknown;
    try {
      const text = this.utf8.decode(rest);
      if (text.trim() === "") return true;
      if (isTooDeep(text)) throw new LineError(this.line + 1, "too deep");
      record = JSON.parse(text);
    } catch (error) {
      if (error instanceof LineError) throw error;
      return false;
    }
    this.take(record, ++this.line);
    return true;
  }

  private takeLines(): void {
    const cut = this.lastNewline;
    if (cut < 0) return;
    const lines = this.buffer.subarray(0, cut);
    const records = this.parseTogether(lines);
    if (records === undefined) this.takeOneByOne(lines);
    else for (const record of records) this.take(record, ++this.line);
    this.buffer.copyWithin(0, cut + 1, this.bufferBytes);
    this.bufferBytes -= cut + 1;
    this.lastNewline = -1;
  }

  /** Parses all lines at once. Returns undefined unless every line is one record. */
  private parseTogether(lines: Uint8Array): readonly unknown[] | undefined {
    try {
      const text = this.utf8.decode(lines);
      let count = 1;
      let start = 0;
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
        if (text[at - 1] !== "}" || text[at + 1] !== "{") return undefined;
        // Most lines are too short to be nested this deeply, and cutting them out would take time.
        if (at - start > 2 * mostLevels && isTooDeep(text.slice(start, at))) return undefined;
        start = at + 1;
        count++;
      }
      if (isTooDeep(text.slice(start))) return undefined;
      const records = JSON.parse(`[${text.replaceAll("\n", ",")}]`) as readonly unknown[];
      return records.length === count ? records : undefined;
    } catch {
      return undefined;
    }
  }

  private takeOneByOne(lines: Uint8Array): void {
    for (let start = 0; start <= lines.length; ) {
      const end = lines.indexOf(newline, start);
      const bytes = lines.subarray(start, end < 0 ? lines.length : end);
      start += bytes.length + 1;
      let text: string | undefined;
      let record: unknown;
      try {
        text = this.utf8.decode(bytes);
        if (isTooDeep(text)) throw new LineError(this.line + 1, "too deep");
        record = JSON.parse(text);
      } catch (error) {
        if (error instanceof LineError) throw error;
        throw new LineError(this.line + 1, text === undefined ? "not UTF-8" : "not JSON", text);
      }
      this.take(record, ++this.line);
    }
  }
}
