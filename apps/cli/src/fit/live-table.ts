import { terminal } from "@remat/trace/emit";
import { type ConsoleIo, terminalColumns } from "../console-io.js";

/** Minimum time between two redraws of the table. */
const drawnEveryMs = 200;
/** Height of a terminal that does not report one. */
const usualRows = 24;

/** A table on stderr that is redrawn in place as it changes, cut to the terminal. */
export class LiveTable {
  private readonly io: ConsoleIo;
  private drawnRows = 0;
  private lastMs = Number.NEGATIVE_INFINITY;

  constructor(io: ConsoleIo) {
    this.io = io;
  }

  /** Draws the result of `text`, unless the table was just drawn. */
  show(text: () => string): void {
    const now = performance.now();
    if (now - this.lastMs < drawnEveryMs) return;
    this.lastMs = now;
    const { stderr } = this.io;
    const columns = Math.max(1, terminalColumns(stderr) - 1);
    const lines = text()
      .trimEnd()
      .split("\n")
      .slice(0, Math.max(1, (stderr.rows || usualRows) - 2));
    this.clear();
    stderr.write(terminal.listing(lines.map((line) => `${line.slice(0, columns)}\n`).join("")));
    this.drawnRows = lines.length;
  }

  clear(): void {
    if (this.drawnRows > 0) this.io.stderr.write(terminal`\r\u001b[${this.drawnRows}A\u001b[J`);
    this.drawnRows = 0;
  }
}
