/**
 * Returns the lines of a text that is broken between words where it would be longer than `width` characters; a longer word stays whole. Lines after the first
 * begin with `indent`.
 */
export function wrapText(text: string, width: number, indent = ""): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && [...longer].length <= width) lines[lines.length - 1] = longer;
    else lines.push(lines.length === 0 ? word : indent + word);
  }
  return lines;
}
