import { type Facts, factLines } from "@remat/reporting/verdict";
import { terminal } from "@remat/trace/emit";
import type { ConsoleIo } from "../console-io.js";

const prefix = "remat: ";

/**
 * Writes facts amid the program's own output: on one line with a prefix that identifies remat, or on several if the
 * terminal is too narrow.
 */
export function printFacts(facts: Facts, io: Pick<ConsoleIo, "stderr" | "width">): void {
  const lines = factLines(facts, io.width === undefined ? undefined : io.width - prefix.length);
  io.stderr.write(terminal.lines(lines.map((line, i) => (i === 0 ? prefix : " ".repeat(prefix.length)) + line)));
}
