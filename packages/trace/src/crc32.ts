let table: Int32Array | undefined;

/**
 * Returns the CRC-32 of gzip and zip (RFC 1952, section 8) for `bytes`. `checksum` is the checksum of the bytes before
 * them. @internal
 */
export function crc32(bytes: Uint8Array, checksum = 0): number {
  table ??= makeTable();
  let c = ~checksum;
  for (let i = 0; i < bytes.length; i++) c = table[(c ^ bytes[i]) & 0xff] ^ (c >>> 8);
  return ~c >>> 0;
}

function makeTable(): Int32Array {
  const made = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let c = byte;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    made[byte] = c;
  }
  return made;
}
