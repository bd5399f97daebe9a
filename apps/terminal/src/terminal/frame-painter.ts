const synchronize = { begin: "\u001b[?2026h", end: "\u001b[?2026l" } as const;

/**
 * Puts frames on the screen by writing only the rows that changed, each at its own place, so that nothing flickers and nothing scrolls. A
 * terminal that knows synchronized output shows each frame whole.
 */
export class FramePainter {
  private shown: readonly string[] | undefined;
  private readonly write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.write = write;
  }

  paint(frame: string): void {
    const lines = frame.split("\n");
    const { shown } = this;
    // Below the last row there is none: a terminal would take it for the last one.
    let output = shown === undefined ? "\u001b[0m\u001b[2J" : "";
    for (let row = 0; row < lines.length; row++)
      // What is to the right is erased after the text: erasing before it would flicker where there is no synchronized output.
      if (lines[row] !== shown?.[row]) output += `\u001b[${row + 1};1H\u001b[0m${lines[row]}\u001b[0m\u001b[K`;
    if (shown !== undefined && shown.length > lines.length) output += `\u001b[${lines.length + 1};1H\u001b[J`;
    this.shown = lines;
    if (output !== "") this.write(`${synchronize.begin}${output}${synchronize.end}`);
  }

  /** The next frame is written whole: after a resize, or when something else has written. */
  forget(): void {
    this.shown = undefined;
  }
}
