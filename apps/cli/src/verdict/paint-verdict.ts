import type { Verdict } from "@remat/reporting";

const styles = { bold: [1, 22], good: [32, 39], bad: [31, 39] } as const;

/** What of a verdict is in colours. */
export type Painted = Partial<Pick<Verdict, "fits" | "command">>;

/** Returns a text that begins with a verdict in colours: whether it fits by green or red, and what to type in bold. */
export function paintVerdict(text: string, { fits, command }: Painted): string {
  const end = text.indexOf("\n\n");
  let head = text.slice(0, end);
  const says = fits === true ? ": fits" : ": does not fit";
  if (fits !== undefined) head = head.replace(says, () => `: ${paint(says.slice(2), fits ? "good" : "bad")}`);
  if (command !== undefined) head = head.replace(command, () => paint(command, "bold"));
  return head + text.slice(end);
}

function paint(text: string, style: keyof typeof styles): string {
  const [on, off] = styles[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}
