const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const endBytes = 22;
const entryBytes = 46;

/**
 * Returns the CRC-32 that the directory of a zip file has for one of its files; undefined where it has none, or the directory is of more than 4 GiB.
 * Source: PKWARE's APPNOTE.TXT, 4.3.12 and 4.3.16.
 */
export function checksumInZip(zip: Uint8Array, name: string): number | undefined {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  let end = zip.length - endBytes;
  while (end >= 0 && view.getUint32(end, true) !== endSignature) end--;
  if (end < 0) return undefined;
  const wanted = new TextEncoder().encode(name);
  let at = view.getUint32(end + 16, true);
  while (at + entryBytes <= end && view.getUint32(at, true) === entrySignature) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const from = at + entryBytes;
    if (nameLength === wanted.length && wanted.every((byte, i) => zip[from + i] === byte))
      return view.getUint32(at + 16, true);
    at = from + nameLength + extraLength + commentLength;
  }
  return undefined;
}
