const synchronize = { begin: "\u001b[?2026h", end: "\u001b[?2026l" } as const;

/**
 * Puts frames on the screen by writing only the rows that changed, each at its own position, so that nothing flickers
 * or scrolls. A terminal that supports synchronized output shows each frame as a whole.
 */
export class FramePainter {
  private shown: readonly string[] | undefined;
  private readonly write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.write = write;
  }

  /** Paints rows that are as wide as the terminal. */
  paint(rows: readonly string[]): void {
    const { shown } = this;
    // There is no row below the last one: a terminal would write to the last one instead.
    let output = shown === undefined ? "\u001b[0m\u001b[2J" : "";
    for (let row = 0; row < rows.length; row++) {
      if (rows[row] === shown?.[row]) continue;
      const text = rows[row].trimEnd();
      // The rest of the row is erased after the text. Erasing it first would flicker without synchronized output. After
      // a text that fills the row some terminals would erase its last character.
      output += `\u001b[${row + 1};1H\u001b[0m${text}\u001b[0m${text === rows[row] && text !== "" ? "" : "\u001b[K"}`;
    }
    if (shown !== undefined && shown.length > rows.length) output += `\u001b[${rows.length + 1};1H\u001b[J`;
    this.shown = rows;
    if (output !== "") this.write(`${synchronize.begin}${output}${synchronize.end}`);
  }

  /** Makes sure that the next frame is written completely: after a resize, or after other output. */
  forget(): void {
    this.shown = undefined;
  }
}
