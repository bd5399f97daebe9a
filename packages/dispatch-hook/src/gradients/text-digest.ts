const prime = 0x100000001b3n;
const mask = 0xffffffffffffffffn;

/** Returns a text's FNV-1a hash of 64 bits, by UTF-16 unit, in hexadecimal. It tells texts apart; it is no defence against who wants them alike. @internal */
export function digestOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++) hash = ((hash ^ BigInt(text.charCodeAt(i))) * prime) & mask;
  return hash.toString(16).padStart(16, "0");
}
