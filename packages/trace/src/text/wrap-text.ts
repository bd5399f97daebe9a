/**
 * Breaks a text into lines of at most `width` characters, between words. A longer word stays whole. Lines after the
 * first begin with `indent`. Takes time linear in the length of the text.
 */
export function wrapText(text: string, width: number, indent = ""): readonly string[] {
  const lines: string[] = [];
  const indentWidth = [...indent].length;
  let words: string[] = [];
  let used = 0;
  for (const word of text.split(" ")) {
    const wordWidth = [...word].length;
    if (words.length > 0 && used + 1 + wordWidth <= width) {
      words.push(word);
      used += 1 + wordWidth;
      continue;
    }
    if (words.length > 0) lines.push(words.join(" "));
    const isFirst = lines.length === 0;
    words = [isFirst ? word : indent + word];
    used = isFirst ? wordWidth : indentWidth + wordWidth;
  }
  lines.push(words.join(" "));
  return lines;
}
