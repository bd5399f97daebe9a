/**
 * Returns the 32-bit FNV-1a hash of a text by UTF-16 unit, in hexadecimal. It distinguishes texts, but is not
 * cryptographic. @internal
 */
export function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
