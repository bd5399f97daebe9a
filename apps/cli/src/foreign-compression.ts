/** Endings of compressed files, but for that of gzip. */
const endings = /\.(br|zst|zip|xz|bz2|lz4|7z)$/;

/** Returns the ending by which a file is compressed as remat neither reads nor writes it. */
export function foreignCompression(path: string): string | undefined {
  return endings.exec(path)?.[0];
}
