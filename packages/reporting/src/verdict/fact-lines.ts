import { wrapText } from "@remat/trace/text";

/** Sentences, one of which may be a command to copy as a whole. */
export interface Facts {
  readonly facts: readonly string[];
  readonly command?: string | undefined;
}

/** The indent of a command on its own line, and the space between a command and the words before it. */
const indent = "  ";

/**
 * Returns each sentence as a line, wrapped to `width`. If a command and the sentence with a colon before it fit in one
 * line, they are on the same line.
 */
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
