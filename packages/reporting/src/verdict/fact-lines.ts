import { wrapText } from "@remat/trace/text";

/** Separates two facts of a verdict. */
export const verdictSeparator = " · ";

/** Facts, and which of them is a command. A command is never broken, so that it can be copied. */
export interface Facts {
  readonly facts: readonly string[];
  readonly command?: string | undefined;
}

/** Returns facts on one line, or on as many lines as `width` requires, each filled with whole facts. */
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
