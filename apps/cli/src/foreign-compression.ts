/** Extensions of compressed files other than gzip. */
const endings = /\.(br|zst|zip|xz|bz2|lz4|7z)$/;

/** Returns the extension of a compressed file in a format that remat does not support. */
export function foreignCompression(path: string): string | undefined {
  return endings.exec(path)?.[0];
}
