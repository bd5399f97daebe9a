import { wrapText } from "@remat/trace/text";

/** Parts two facts of a verdict. */
export const verdictSeparator = " · ";

/** Facts, and which of them is a command: whoever copies it needs it in one piece. */
export interface Facts {
  readonly facts: readonly string[];
  readonly command?: string | undefined;
}

/** Returns facts in one line, or where that is longer than `width` in several, each of as many facts as there is room for. */
export function factLines({ facts, command }: Facts, width?: number): readonly string[] {
  const most = width ?? Number.POSITIVE_INFINITY;
  const lines: string[] = [];
  for (const fact of facts) {
    const longer = lines.length === 0 ? fact : `${lines.at(-1)}${verdictSeparator}${fact}`;
    if (lines.length > 0 && longer.length <= most) lines[lines.length - 1] = longer;
    else lines.push(...(fact === command ? [fact] : wrapText(fact, most, "  ")));
  }
  return lines;
}
