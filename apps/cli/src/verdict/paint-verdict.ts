import type { Verdict } from "@remat/reporting/verdict";
import { type TerminalText, terminal } from "@remat/trace/emit";

/** The parts of a verdict that are coloured. */
export type Painted = Partial<Pick<Verdict, "fits" | "command">>;

/** Colours the verdict at the beginning of a text: green or red for whether it fits, bold for the command. */
export function paintVerdict(text: TerminalText, { fits, command }: Painted): TerminalText {
  const end = text.indexOf("\n\n");
  const head = text.slice(0, end);
  const says = fits === true ? "Fits" : "Does not fit";
  const marks = [
    ...(fits === undefined
      ? []
      : [{ at: head.indexOf(says), mark: says, style: fits ? ("good" as const) : ("bad" as const) }]),
    ...(command === undefined ? [] : [{ at: head.indexOf(command), mark: command, style: "bold" as const }]),
  ];
  const painted: TerminalText[] = [];
  let from = 0;
  for (const { at, mark, style } of [...marks].sort((a, b) => a.at - b.at)) {
    if (at < from || !head.startsWith(mark, at)) continue;
    painted.push(terminal.listing(head.slice(from, at)), terminal.styled(mark, style));
    from = at + mark.length;
  }
  return terminal.join([...painted, terminal.listing(text.slice(from))]);
}
