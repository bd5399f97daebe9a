import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FramePainter } from "../../src/terminal/frame-painter.js";
import { TerminalScreen } from "../../src/terminal/terminal-screen.js";

/**
 * As much of a terminal as the painter needs: rows, a cursor, erasing to the end of the line and of the screen. As in xterm the cursor stays on the last
 * column when that is written, so that erasing then erases it.
 */
class SmallTerminal {
  rows: string[] = [];
  written = 0;
  readonly height: number;
  readonly width: number;
  private row = 0;
  private column = 0;

  constructor(height: number, width: number) {
    this.height = height;
    this.width = width;
  }

  write(text: string): void {
    this.written += text.length;
    for (const [part] of text.matchAll(/\u001b\[\??[\d;]*[A-Za-z]|[^\u001b]+/g)) {
      const place = /^\u001b\[(\d+);(\d+)H$/.exec(part);
      if (place !== null) [this.row, this.column] = [Math.min(this.height, Number(place[1])) - 1, Number(place[2]) - 1];
      else if (part === "\u001b[K")
        this.rows[this.row] = (this.rows[this.row] ?? "").slice(0, Math.min(this.column, this.width - 1));
      else if (part === "\u001b[2J") this.rows = [];
      else if (part === "\u001b[J") this.rows.length = Math.min(this.rows.length, this.row);
      else if (!part.startsWith("\u001b")) {
        const before = (this.rows[this.row] ?? "").padEnd(this.column).slice(0, this.column);
        this.rows[this.row] = before + part + (this.rows[this.row] ?? "").slice(this.column + part.length);
        this.column += part.length;
      }
    }
  }
}

const width = 20;
const row = fc.stringMatching(/^[a-z ]{0,20}$/).map((text) => text.padEnd(width));
const frames = fc.array(fc.array(row, { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 6,
});

describe("the painter", () => {
  it("leaves on the screen the last frame, whatever came before", () => {
    fc.assert(
      fc.property(frames, (list) => {
        // As high as the highest frame: the app always fills its terminal.
        const terminal = new SmallTerminal(Math.max(...list.map((frame) => frame.length)), width);
        const painter = new FramePainter((text) => terminal.write(text));
        for (const frame of list) {
          painter.paint(frame);
          expect(Array.from(terminal.rows, (text) => (text ?? "").padEnd(width))).toEqual(frame);
        }
      }),
    );
  });

  it("writes the rows that changed, and nothing where none did", () => {
    const terminal = new SmallTerminal(50, 200);
    const painter = new FramePainter((text) => terminal.write(text));
    const rows = Array.from({ length: 50 }, (_, i) => `row ${i} ${"x".repeat(100)}`.padEnd(200));
    painter.paint(rows);
    const whole = terminal.written;
    painter.paint(rows);
    expect(terminal.written).toBe(whole);
    painter.paint(rows.with(7, "other".padEnd(200)));
    expect(terminal.written - whole).toBeLessThan(60);
    painter.forget();
    painter.paint(rows);
    expect(terminal.written).toBeGreaterThan(2 * whole - 100);
  });
});

describe("the screen of a terminal", () => {
  it("is entered and left once, with everything that was switched on switched off", () => {
    let written = "";
    const screen = new TerminalScreen({ columns: 80, rows: 24, write: (text) => (written += text) });
    screen.paint(["before"]);
    expect(written).toBe("");
    screen.enter();
    screen.enter();
    screen.paint(["frame"]);
    screen.copy("naïve");
    screen.leave();
    screen.leave();
    screen.paint(["after"]);
    const switched = (state: string): string[] =>
      Array.from(written.matchAll(new RegExp(`\\u001b\\[\\?(\\d+)${state}`, "g")), ([, mode]) => mode);
    expect(
      switched("h")
        .filter((mode) => mode !== "2026" && mode !== "25")
        .sort(),
    ).toEqual(["1000", "1006", "1049"]);
    expect(
      switched("l")
        .filter((mode) => mode !== "2026" && mode !== "25")
        .sort(),
    ).toEqual(["1000", "1006", "1049"]);
    expect(written.lastIndexOf("\u001b[?25h")).toBeGreaterThan(written.indexOf("\u001b[?25l"));
    expect(written).toContain(`\u001b]52;c;${Buffer.from("naïve").toString("base64")}\u0007`);
    expect(written).not.toContain("after");
  });
});
