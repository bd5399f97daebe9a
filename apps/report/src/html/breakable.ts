import { type Html, html } from "@remat/trace/emit";

/** Creates text that may continue on the next line after any of `characters`. */
export function breakable(text: string, characters: string): readonly Html[] {
  const parts = [""];
  for (const character of text) {
    parts[parts.length - 1] += character;
    if (characters.includes(character)) parts.push("");
  }
  return parts.map((part, i) => (i === 0 ? html`${part}` : html`<wbr>${part}`));
}
