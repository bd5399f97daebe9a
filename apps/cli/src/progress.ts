import { terminal } from "@remat/trace/emit";
import { displaySafe } from "@remat/trace/text";
import { type ConsoleIo, terminalColumns } from "./console-io.js";

/** A progress line on stderr. It prints nothing if stderr is not a terminal, so that pipes and logs stay clean. */
export class Progress {
  private readonly io: ConsoleIo;
  private readonly enabled: boolean;
  private shown = false;
  private lastMs = 0;
  private readonly warned = new Set<string>();

  constructor(io: ConsoleIo) {
    this.io = io;
    this.enabled = io.stderr.isTTY === true && io.env["TERM"] !== "dumb" && io.env["CI"] === undefined;
  }

  /** Replaces the line, at most ten times per second unless `force` is set. */
  show(text: string, force = false): void {
    const now = performance.now();
    if (!this.enabled || (!force && now - this.lastMs < 100)) return;
    this.lastMs = now;
    this.shown = true;
    const room = Math.max(1, terminalColumns(this.io.stderr) - 1);
    this.io.stderr.write(terminal`\r\u001b[2K${displaySafe(text).slice(0, room)}`);
  }

  /** Writes a permanent line once, even if stderr is not a terminal. */
  warn(text: string): void {
    if (this.warned.has(text)) return;
    this.warned.add(text);
    this.clear();
    this.io.stderr.write(terminal`remat: ${text}\n`);
  }

  clear(): void {
    if (this.shown) this.io.stderr.write(terminal`\r\u001b[2K`);
    this.shown = false;
  }
}
