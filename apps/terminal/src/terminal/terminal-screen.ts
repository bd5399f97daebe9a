import { FramePainter } from "./frame-painter.js";

/** The part of an output terminal that the app uses. */
export interface TerminalOutput {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const modes = {
  // Alternate screen, hidden cursor, and mouse presses and wheel in a format without column limits.
  enter: "\u001b[?1049h\u001b[?25l\u001b[?1000h\u001b[?1006h\u001b[2J\u001b[H",
  leave: "\u001b[?1006l\u001b[?1000l\u001b[0m\u001b[?25h\u001b[?1049l",
} as const;
/** Terminals and multiplexers drop longer texts. */
const longestCopyBytes = 74_000;

/** The terminal's alternate screen: entered once, and left once however the app ends. */
export class TerminalScreen {
  private readonly output: TerminalOutput;
  private readonly painter: FramePainter;
  private isOn = false;

  constructor(output: TerminalOutput) {
    this.output = output;
    this.painter = new FramePainter((text) => output.write(text));
  }

  get size(): { readonly columns: number; readonly rows: number } {
    return { columns: this.output.columns || 80, rows: this.output.rows || 24 };
  }

  enter(): void {
    if (this.isOn) return;
    this.isOn = true;
    this.painter.forget();
    this.output.write(modes.enter);
  }

  /** Restores the screen, cursor and mouse. */
  leave(): void {
    if (!this.isOn) return;
    this.isOn = false;
    this.output.write(modes.leave);
  }

  /** Paints rows that are as wide as the terminal. */
  paint(rows: readonly string[]): void {
    if (this.isOn) this.painter.paint(rows);
  }

  redraw(): void {
    this.painter.forget();
  }

  /** Copies a text to the terminal's clipboard (OSC 52), if it allows that. */
  copy(text: string): void {
    const encoded = Buffer.from(text, "utf8").subarray(0, longestCopyBytes).toString("base64");
    if (this.isOn) this.output.write(`\u001b]52;c;${encoded}\u0007`);
  }
}
