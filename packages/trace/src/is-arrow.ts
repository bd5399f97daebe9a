/** The first and last bytes of an Arrow IPC file: `ARROW1`. @internal */
export const arrowMagic: Uint8Array = Uint8Array.of(0x41, 0x52, 0x52, 0x4f, 0x57, 0x31);

/** Returns whether a file that begins with `bytes` is an Arrow IPC file. */
export function isArrow(bytes: Uint8Array): boolean {
  return bytes.length >= arrowMagic.length && arrowMagic.every((byte, i) => bytes[i] === byte);
}
