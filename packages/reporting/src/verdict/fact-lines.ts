import { wrapText } from "@remat/trace/text";

/** Sentences, and which of them is a command to be copied in one piece. */
export interface Facts {
  readonly facts: readonly string[];
  readonly command?: string | undefined;
}

/** A command in a line of its own, and between a command and the words before it. */
const indent = "  ";

/** Returns each sentence as a line, wrapped to `width`. A command follows the sentence that ends in a colon if both fit in one line. */
export function factLines({ facts, command }: Facts, width?: number): readonly string[] {
  const most = width ?? Number.POSITIVE_INFINITY;
  const lines: string[] = [];
  for (const fact of facts) {
    if (fact !== command) {
      lines.push(...wrapText(fact, most, indent));
      continue;
    }
    const before = lines.at(-1);
    const together = `${before}${indent}${fact}`;
    if (before?.endsWith(":") && together.length <= most) lines[lines.length - 1] = together;
    else lines.push(`${before === undefined ? "" : indent}${fact}`);
  }
  return lines;
}

/** Returns sentences as one paragraph. */
export function paragraphOf({ facts }: Pick<Facts, "facts">): string {
  return facts.join(" ");
}
