import { looseSizeAt, sizeAt, sizeBefore } from "./size-in-text.js";

/**
 * The kinds of values in a text. `size` has a unit as PyTorch writes it. `loose` is a size in any spelling (`8,000
 * bytes`, `33.03G`, `72GB`, or a number of bytes). `GiB` is a number of GiB, `hex` a hexadecimal number of bytes. `id`
 * is a whole number. `word` has letters, digits and underscores, `list` is a list in brackets, and `rest` extends to the
 * text that follows.
 */
type HoleType = "size" | "loose" | "GiB" | "hex" | "id" | "word" | "list" | "rest";

/** A value in a text: bytes, a number, or characters. */
export type FieldValue = number | string;

interface Hole {
  readonly field: string;
  readonly type: HoleType;
}

/** A text with holes, such as `of which {available} is free`. */
export interface TextTemplate {
  /** The fixed texts before, between and after the holes. */
  readonly texts: readonly string[];
  readonly holes: readonly Hole[];
}

/** Longer words and lists are cut. */
const mostOfWord = 1000;

/**
 * Parses a template. A hole is `{field}` or `{field:type}`, and its type is `size` by default. One that begins with a
 * hole must continue with a fixed text.
 *
 * @internal
 */
export function templateOf(text: string): TextTemplate {
  const parts = text.split(/[{}]/);
  return {
    texts: parts.filter((_, i) => i % 2 === 0),
    holes: parts
      .filter((_, i) => i % 2 === 1)
      .map((hole) => {
        const [field, type = "size"] = hole.split(":") as [string, HoleType?];
        return { field, type };
      }),
  };
}

/**
 * Yields the values of every place at which a text matches a template. Takes time linear in the length of the text.
 *
 * @throws RematError `ALLOCATOR_LOG` for a `size` that no allocator can have
 * @internal
 */
export function* matchesOf(
  { texts, holes }: TextTemplate,
  text: string,
): Generator<ReadonlyMap<string, FieldValue>, void> {
  const leads = texts[0] === "";
  const anchor = texts[leads ? 1 : 0] as string;
  for (let at = text.indexOf(anchor); at >= 0; at = text.indexOf(anchor, at + anchor.length)) {
    const values = new Map<string, FieldValue>();
    if (leads) {
      const value = sizeBefore(text, at);
      if (value === undefined) continue;
      values.set((holes[0] as Hole).field, value);
    }
    if (readHoles({ texts, holes }, text, at + anchor.length, leads ? 1 : 0, values)) yield values;
  }
}

/** Reads the holes from `first` on, and checks the texts after them. Returns false if they do not match. */
function readHoles(
  { texts, holes }: TextTemplate,
  text: string,
  start: number,
  first: number,
  values: Map<string, FieldValue>,
): boolean {
  let at = start;
  for (let i = first; i < holes.length; i++) {
    const next = texts[i + 1] as string;
    const found = readHole((holes[i] as Hole).type, text, at, next);
    if (found === undefined || !text.startsWith(next, found.end)) return false;
    values.set((holes[i] as Hole).field, found.value);
    at = found.end + next.length;
  }
  return true;
}

interface ReadHole {
  readonly value: FieldValue;
  readonly end: number;
}

const hexNext = /0x[0-9a-f]{1,12}/iy;
const idNext = /\d{1,12}/y;
const wordNext = /\w{1,200}/y;
const numberNext = /\d{1,9}(?:\.\d{1,6})?/y;

function readHole(type: HoleType, text: string, at: number, next: string): ReadHole | undefined {
  switch (type) {
    case "size": {
      const size = sizeAt(text, at);
      return size?.hasUnit ? { value: size.bytes, end: size.end } : undefined;
    }
    case "loose": {
      const size = looseSizeAt(text, at);
      return size && { value: size.bytes, end: size.end };
    }
    case "GiB":
      return readToken(numberNext, text, at, (token) => Math.round(Number(token) * 2 ** 30));
    case "hex":
      return readToken(hexNext, text, at, Number);
    case "id":
      return readToken(idNext, text, at, Number);
    case "word":
      return readToken(wordNext, text, at, (token) => token);
    case "list":
      return "([".includes(text[at] ?? " ") ? readUntil(text, at + 1, text[at] === "(" ? ")" : "]", 1) : undefined;
    case "rest":
      return readUntil(text, at, next, 0);
  }
}

function readToken(
  pattern: RegExp,
  text: string,
  at: number,
  value: (token: string) => FieldValue,
): ReadHole | undefined {
  pattern.lastIndex = at;
  const [token] = pattern.exec(text) ?? [];
  return token === undefined ? undefined : { value: value(token), end: at + token.length };
}

function readUntil(text: string, at: number, end: string, skipped: number): ReadHole | undefined {
  const within = text.slice(at, at + mostOfWord).indexOf(end);
  return within < 0 ? undefined : { value: text.slice(at, at + within), end: at + within + skipped };
}
