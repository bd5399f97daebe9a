import { RematError } from "@remat/trace";

const units: Readonly<Record<string, number>> = {
  bytes: 1,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  PiB: 2 ** 50,
  EiB: 2 ** 60,
};

/** Allocators count bytes in signed 64-bit integers. */
const mostBytes = 2 ** 63;
/** Longer numbers are not sizes, and parsing them would only take time. */
const mostCharacters = 48;

const sizeStart = /\s{0,8}([-+]?(?:\d{1,40}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,5})?|[Ii]nf(?:inity)?|[Nn]a[Nn]))/y;
const unitNext = /\s{0,4}(bytes|B|[KMGTPE]iB)(?![A-Za-z0-9])/y;

/** A size found in a text, and the position after it. */
export interface SizeInText {
  readonly bytes: number;
  readonly end: number;
  readonly hasUnit: boolean;
}

/**
 * Reads the size that begins at `at`: `2.25GiB`, `120B`, `20.00 MiB`, `512 bytes`, or a number alone. Returns undefined
 * if there is no number, or an unknown unit. Takes constant time for texts of any length.
 *
 * @throws RematError `ALLOCATOR_LOG` for a size that no allocator can have: infinite, negative, not a number, or above
 * 8 EiB
 * @internal
 */
export function sizeAt(text: string, at: number): SizeInText | undefined {
  sizeStart.lastIndex = at;
  const [start, number] = sizeStart.exec(text) ?? [];
  if (start === undefined || number === undefined) return undefined;
  let end = at + start.length;
  unitNext.lastIndex = end;
  const [spacedUnit, unit] = unitNext.exec(text) ?? [];
  if (spacedUnit !== undefined) end += spacedUnit.length;
  const hasUnit = spacedUnit !== undefined;
  // A log may break off inside a unit.
  if (!hasUnit && /[A-Za-z]/.test(text[end] ?? "")) return undefined;
  // A period may end a sentence, but digits after it continue the number.
  const goesOn = !hasUnit && /[\d.]/.test(text[end] ?? "") && /\d/.test(text[end + 1] ?? "");
  const bytes = Math.round(Number(number) * (units[unit ?? "B"] as number));
  if (goesOn || !(bytes >= 0 && bytes < mostBytes)) throw absurdSize(text.slice(at, at + mostCharacters));
  return { bytes, end, hasUnit };
}

const looseNumber = /\s{0,4}(\d{1,30}(?:,\d{3}){0,8}(?:\.\d{0,20})?)/y;
const looseUnit = /\s{0,2}(bytes|[KMGTPE]i?B|kB|[KMGTP]|B)(?![A-Za-z0-9])/y;

/**
 * Reads the size that begins at `at`, as runtimes other than PyTorch's and TensorFlow's allocators write it: `33.03G`,
 * `72GB`, `8,000 bytes`, or a number of bytes. All units are powers of 1024. The size may be larger than any memory.
 *
 * @internal
 */
export function looseSizeAt(text: string, at: number): SizeInText | undefined {
  looseNumber.lastIndex = at;
  const [start, number] = looseNumber.exec(text) ?? [];
  if (start === undefined || number === undefined) return undefined;
  const end = at + start.length;
  looseUnit.lastIndex = end;
  const [spacedUnit = "", unit = ""] = looseUnit.exec(text) ?? [];
  const letter = unit === "bytes" ? "" : unit.charAt(0).toUpperCase();
  const factor = units[letter === "" || letter === "B" ? "B" : `${letter}iB`] as number;
  const bytes = Math.round(Number(number.replaceAll(",", "")) * factor);
  return { bytes, end: end + spacedUnit.length, hasUnit: unit !== "" };
}

/** Reads a text that consists of one size. Returns undefined for any other text. @internal */
export function readSize(text: string): number | undefined {
  if (text.length > mostCharacters) return undefined;
  const trimmed = text.trim();
  const size = sizeAt(trimmed, 0);
  return size !== undefined && size.end === trimmed.length ? size.bytes : undefined;
}

/** Reads the size with a unit that ends at `end`, as in `2.00 GiB already allocated`. @internal */
export function sizeBefore(text: string, end: number): number | undefined {
  const words = text.slice(Math.max(0, end - mostCharacters), end).split(" ");
  const unit = words.pop() ?? "";
  const number = words.pop();
  if (number === undefined || !Object.hasOwn(units, unit) || unit === "B") return undefined;
  return readSize(`${number.replace("(", "")} ${unit}`);
}

/** Returns half of the second decimal, in the unit in which PyTorch prints a size. @internal */
export function roundingOf(bytes: number): number {
  const unit = [2 ** 30, 2 ** 20, 2 ** 10].find((each) => bytes > each);
  return unit === undefined ? 0 : 0.005 * unit;
}

/** Returns the error for a size that cannot be right. @internal */
function absurdSize(found: string): RematError {
  const shown = found.length < mostCharacters ? found : `${found.slice(0, mostCharacters - 1)}…`;
  return new RematError(
    "ALLOCATOR_LOG",
    `the log contains an impossible size, ${JSON.stringify(shown.trim())}. If the program asked for it, a shape overflowed or is negative; otherwise the log is damaged, so save it again.`,
  );
}
