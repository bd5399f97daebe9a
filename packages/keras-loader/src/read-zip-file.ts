import { crc32 } from "@remat/trace";
import { inflateExactly } from "./inflate-exactly.js";

const endSignature = 0x06054b50;
const endBytes = 22;
const mostComment = 0xffff;
const wideLocatorSignature = 0x07064b50;
const wideEndSignature = 0x06064b50;
const entrySignature = 0x02014b50;
const entryBytes = 46;
const localSignature = 0x04034b50;
const localBytes = 30;
const full16 = 0xffff;
const full32 = 0xffffffff;

/** A file in a zip file, according to its directory. */
interface ZipEntry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
  /** Offset of the file's header. */
  readonly at: number;
  /** Offset of the file's data. */
  readonly dataAt: number;
}

/**
 * Returns one file of a zip file. Undefined if it is missing. Only that file is unpacked, to the size that its
 * directory declares. Overlapping files, duplicate names and impossible sizes are errors. Source: PKWARE's APPNOTE.TXT,
 * 4.3.
 *
 * @throws Error with the reason
 */
export function readZipFile(zip: Uint8Array, wanted: string, maxBytes: number): Uint8Array | undefined {
  const entries = readDirectory(zip);
  const entry = entries.find(({ name }) => name === wanted);
  if (entry === undefined) return undefined;
  const { flags, method, crc, packedBytes, bytes, dataAt } = entry;
  if (bytes > maxBytes) throw new Error(`its ${wanted} has ${bytes} bytes, and the limit is ${maxBytes}`);
  if ((flags & 1) !== 0) throw new Error(`its ${wanted} is encrypted`);
  const packed = zip.subarray(dataAt, dataAt + packedBytes);
  let file: Uint8Array;
  if (method === 0) {
    if (packedBytes !== bytes) throw new Error(`its ${wanted} has ${packedBytes} bytes, and declares ${bytes}`);
    file = packed;
  } else if (method === 8) {
    try {
      file = inflateExactly(packed, bytes);
    } catch (cause) {
      throw new Error(`its ${wanted} is damaged: ${(cause as Error).message}`, { cause });
    }
  } else throw new Error(`its ${wanted} uses compression method ${method}, which is not supported`);
  if (crc32(file) !== crc) throw new Error(`its ${wanted} is damaged: the checksum differs`);
  return file;
}

function readDirectory(zip: Uint8Array): readonly ZipEntry[] {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const { count, start, end } = findDirectory(view);
  const entries: ZipEntry[] = [];
  const names = new Set<string>();
  let at = start;
  for (let i = 0; i < count; i++) {
    if (at + entryBytes > end || view.getUint32(at, true) !== entrySignature)
      throw new Error(`its directory has ${i} files, but declares ${count}`);
    const next =
      at + entryBytes + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > end) throw new Error("its directory is cut short");
    const entry = readEntry(view, at, start);
    if (names.has(entry.name)) throw new Error(`it contains ${JSON.stringify(entry.name.slice(0, 80))} twice`);
    names.add(entry.name);
    entries.push(entry);
    at = next;
  }
  const inOrder = entries.toSorted((a, b) => a.at - b.at);
  inOrder.forEach((entry, i) => {
    if (entry.dataAt + entry.packedBytes > (inOrder[i + 1]?.at ?? start)) throw new Error("its files overlap");
  });
  return entries;
}

function findDirectory(view: DataView): { readonly count: number; readonly start: number; readonly end: number } {
  const first = Math.max(0, view.byteLength - endBytes - mostComment);
  let at = view.byteLength - endBytes;
  while (at >= first && view.getUint32(at, true) !== endSignature) at--;
  if (at < first) throw new Error("it has no directory: it is cut short");
  let count = view.getUint16(at + 10, true);
  let start = view.getUint32(at + 16, true);
  let end = at;
  const locator = at - 20;
  if (
    (count === full16 || start === full32) &&
    locator >= 0 &&
    view.getUint32(locator, true) === wideLocatorSignature
  ) {
    end = wide(view, locator + 8);
    if (end + 56 > locator || view.getUint32(end, true) !== wideEndSignature)
      throw new Error("its directory is damaged");
    count = wide(view, end + 32);
    start = wide(view, end + 48);
  }
  if (start > end || count * entryBytes > end - start) throw new Error("its directory is damaged");
  return { count, start, end };
}

function readEntry(view: DataView, at: number, directory: number): ZipEntry {
  const nameBytes = view.getUint16(at + 28, true);
  const name = textOf(view, at + entryBytes, nameBytes);
  let [packedBytes, bytes, local] = [20, 24, 42].map((offset) => view.getUint32(at + offset, true)) as [
    number,
    number,
    number,
  ];
  let extra = wideFields(view, at + entryBytes + nameBytes, view.getUint16(at + 30, true));
  const widened = (value: number): number => {
    if (value !== full32 || extra === undefined) return value;
    if (extra.at + 8 > extra.end) throw new Error("its directory is damaged");
    const found = wide(view, extra.at);
    extra = { at: extra.at + 8, end: extra.end };
    return found;
  };
  bytes = widened(bytes);
  packedBytes = widened(packedBytes);
  local = widened(local);
  const method = view.getUint16(at + 10, true);
  if (local + localBytes > directory || view.getUint32(local, true) !== localSignature)
    throw new Error(`its ${name} is missing at the place that the directory gives`);
  const localName = view.getUint16(local + 26, true);
  const dataAt = local + localBytes + localName + view.getUint16(local + 28, true);
  if (dataAt + packedBytes > directory) throw new Error(`its ${name} is longer than the archive`);
  if (view.getUint16(local + 8, true) !== method || textOf(view, local + localBytes, localName) !== name)
    throw new Error(`the name or compression of its ${name} differs from the directory`);
  return {
    name,
    flags: view.getUint16(at + 8, true),
    method,
    crc: view.getUint32(at + 16, true),
    packedBytes,
    bytes,
    at: local,
    dataAt,
  };
}

/** Finds the fields of an entry that do not fit 32 bits. */
function wideFields(
  view: DataView,
  at: number,
  length: number,
): { readonly at: number; readonly end: number } | undefined {
  const end = at + length;
  for (let field = at; field + 4 <= end; ) {
    const next = field + 4 + view.getUint16(field + 2, true);
    if (view.getUint16(field, true) === 1 && next <= end) return { at: field + 4, end: next };
    field = next;
  }
  return undefined;
}

function textOf(view: DataView, at: number, length: number): string {
  return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + at, length));
}

function wide(view: DataView, at: number): number {
  return view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
}
