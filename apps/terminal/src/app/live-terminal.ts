import type { ReadStream, WriteStream } from "node:tty";
import { drawLive, type LiveState, type LiveStep } from "../screen/live-screen.js";
import { TerminalScreen } from "../terminal/terminal-screen.js";
import { asciiGlyphs, showsUnicode, unicodeGlyphs } from "../text/glyphs.js";
import { paintLine } from "../text/line.js";
import { type Look, themeOfLook } from "../text/look.js";
import { colourDepth, type ThemeName, themeOf } from "../text/theme.js";

/** Options of {@link openLiveView}. */
export interface LiveOptions {
  /** The watched program, as typed. */
  readonly program: string;
  /** Left out: one that suits the terminal. */
  readonly theme?: ThemeName | undefined;
  /** True to draw with ASCII only. Left out: depends on whether the terminal shows Unicode. */
  readonly isAscii?: boolean | undefined;
  /** Environment variables, which describe the terminal. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Source of key presses. */
  readonly stdin: ReadStream;
  /** The terminal to draw on. */
  readonly stdout: WriteStream;
  /** Called to end the program. */
  readonly onQuit: () => void;
}

/** A live view of a training program. */
export interface LiveView {
  /** Shows a new step. */
  step(step: LiveStep): void;
  /** Shows output of the program. */
  wrote(text: string): void;
  /**
   * Restores the terminal and leaves the last picture on it, below the program's output. A second call does nothing.
   */
  close(ended: string): void;
}

/** Number of steps drawn side by side. */
const stepsShown = 6;
/** The program's output is kept, up to this many characters, to be left on the terminal. */
const mostWritten = 1 << 20;

/**
 * Shows a live view of a training program: memory by category over its last steps, the peak and its main parts. `stdin`
 * and `stdout` must be a terminal, which is restored when the view is closed.
 *
 * @example
 * const live = openLiveView({ program: "node train.js", env: process.env, stdin: process.stdin, stdout: process.stdout, onQuit: stop });
 */
export function openLiveView(options: LiveOptions): LiveView {
  const { env, stdin, stdout } = options;
  const look: Look = {
    theme: options.theme ?? themeOf(env),
    depth: colourDepth(env),
    glyphs: (options.isAscii ?? !showsUnicode(env)) ? asciiGlyphs : unicodeGlyphs,
    isPlain: false,
  };
  const screen = new TerminalScreen(stdout);
  let state: LiveState = {
    program: options.program,
    steps: [],
    most: undefined,
    output: [],
    isPaused: false,
    ended: undefined,
  };
  /** The last steps, updated even while the picture is paused. */
  let steps: readonly LiveStep[] = [];
  let written = "";
  let isOpen = true;
  const painted = (size: { readonly columns: number; readonly rows: number }): readonly string[] =>
    drawLive(state, size, look).map((line) => paintLine(line, themeOfLook(look), look.glyphs));
  const draw = (): void => screen.paint(painted(screen.size));
  const change = (changes: Partial<LiveState>): void => {
    state = { ...state, ...changes };
    draw();
  };
  const resize = (): void => {
    screen.redraw();
    draw();
  };
  const pressed = (data: Buffer): void => {
    const key = data.toString("utf8");
    if (key === "q" || key === "\u0003") options.onQuit();
    else if (key === " ") change({ isPaused: !state.isPaused, steps: state.isPaused ? steps : state.steps });
    else if (key === "\u000c") resize();
  };
  const restore = (): void => {
    screen.leave();
    if (stdin.isTTY) stdin.setRawMode(false);
  };
  process.on("exit", restore);
  stdin.setRawMode(true);
  stdin.resume();
  stdin.on("data", pressed);
  stdout.on("resize", resize);
  screen.enter();
  draw();
  return {
    step(step) {
      steps = [...steps, step].slice(-stepsShown);
      const { most, isPaused } = state;
      const isMost = most === undefined || step.view.peakBytes > most.view.peakBytes;
      change({ ...(isMost && { most: step }), ...(!isPaused && { steps }) });
    },
    wrote(text) {
      written = `${written}${text}`.slice(-mostWritten);
      // Text that a progress bar has overwritten is dropped.
      const lines = written
        .slice(-10_000)
        .replace(/\r?\n$/, "")
        .split(/\r?\n/);
      change({ output: lines.slice(-20).map((line) => line.slice(line.lastIndexOf("\r") + 1)) });
    },
    close(ended) {
      if (!isOpen) return;
      isOpen = false;
      state = { ...state, steps, ended, output: [] };
      stdin.off("data", pressed);
      stdin.pause();
      stdout.off("resize", resize);
      process.off("exit", restore);
      restore();
      const { columns, rows } = screen.size;
      const picture = painted({ columns, rows: Math.min(24, rows - 1) });
      // Key hints no longer apply.
      stdout.write(
        `${written}${written === "" || written.endsWith("\n") ? "" : "\n"}${picture.slice(0, -1).join("\n")}\n`,
      );
    },
  };
}
