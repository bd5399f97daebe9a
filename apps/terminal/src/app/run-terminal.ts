import type { ReadStream, WriteStream } from "node:tty";
import type { DeviceSpec } from "@remat/trace";
import { writeNewFile } from "@remat/trace/files";
import { render } from "ink";
import { createElement } from "react";
import { specOf } from "../document/settings.js";
import { SavedViews } from "../files/saved-views.js";
import type { StartEntry } from "../state/opened.js";
import { noOutput } from "../terminal/no-output.js";
import { TerminalScreen } from "../terminal/terminal-screen.js";
import { asciiGlyphs, showsUnicode, unicodeGlyphs } from "../text/glyphs.js";
import type { Look } from "../text/look.js";
import { colourDepth, type ThemeName, themeOf } from "../text/theme.js";
import type { ViewName } from "../views/views.js";
import { App } from "./app.js";
import { followApp } from "./app-frames.js";
import { AppInput } from "./app-input.js";
import type { AnswerWhatIfs, Host, OpenTarget } from "./host.js";

/** Options of {@link startTerminal}. */
export interface TerminalOptions {
  /** Targets to open: a model, trace or plan; two traces are compared. Empty: the start screen. */
  readonly targets: readonly string[];
  /** Opens a target. */
  readonly open: OpenTarget;
  /**
   * Answers what-if questions about models by tracing their steps again. Left out: questions are answered from traces
   * only.
   */
  readonly answerWhatIfs?: AnswerWhatIfs;
  /** Entries of the start screen in addition to recently opened ones. */
  readonly examples: readonly StartEntry[];
  /** Device to estimate times for if the trace has none of its own: a spec, or a name that `deviceSpec` knows. */
  readonly device: DeviceSpec | string;
  /**
   * True if the user requested it. If not, a step has to fit where it was recorded, if its trace contains the memory
   * size.
   */
  readonly isDeviceAsked?: boolean;
  /** The view to show first. */
  readonly view?: ViewName | undefined;
  /** Left out: the one saved from the last session, otherwise one that suits the terminal. */
  readonly theme?: ThemeName | undefined;
  /** True to draw with ASCII only. Left out: depends on whether the terminal shows Unicode. */
  readonly isAscii?: boolean | undefined;
  /** Search time for plans in milliseconds (10,000 by default). */
  readonly planTimeMs?: number;
  /** Environment variables, which describe the terminal. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Source of key presses. */
  readonly stdin: ReadStream;
  /** The terminal to draw on. */
  readonly stdout: WriteStream;
  /** Folder for exports and plans. */
  readonly folder: string;
}

/**
 * Runs the app until it is closed. However it ends, the terminal is restored. A signal ends the process in the usual
 * way, with exit code 128 + its number in a shell.
 */
export async function runTerminal(options: TerminalOptions): Promise<void> {
  const { env, stdin, stdout } = options;
  const screen = new TerminalScreen(stdout);
  const saved = new SavedViews(env);
  let isOver = false;
  let finish: (error?: Error) => void = () => undefined;
  const over = new Promise<void>((resolve, reject) => {
    finish = (error) => {
      isOver = true;
      if (error === undefined) resolve();
      else reject(error);
    };
  });
  const suspend = (): void => {
    screen.leave();
    stdin.setRawMode(false);
    process.once("SIGCONT", () => {
      stdin.setRawMode(true);
      screen.enter();
      resize();
    });
    process.kill(process.pid, "SIGTSTP");
  };
  const host: Host = {
    open: options.open,
    answerWhatIfs: options.answerWhatIfs,
    writeFile: (name, text) => writeNewFile(options.folder, name, text),
    copy: (text) => screen.copy(text),
    redraw: () => screen.redraw(),
    suspend,
    quit: () => finish(),
    startEntries: () => [...saved.recent(), ...options.examples],
    loadView: (path) => saved.load(path),
    saveView: (path, title, view) => saved.save(path, title, view),
    saveTheme: (theme) => saved.saveTheme(theme),
    device: specOf(options.device),
    isDeviceAsked: options.isDeviceAsked ?? false,
    planTimeMs: options.planTimeMs ?? 10_000,
  };
  const look: Look = {
    theme: options.theme ?? saved.theme() ?? themeOf(env),
    depth: colourDepth(env),
    glyphs: (options.isAscii ?? !showsUnicode(env)) ? asciiGlyphs : unicodeGlyphs,
    isPlain: false,
  };
  const app = new App({ host, look, size: screen.size, view: options.view });
  const resize = (): void => {
    screen.redraw();
    app.dispatch({ kind: "resize", size: screen.size });
  };
  const crash = (error: unknown): void => finish(error instanceof Error ? error : new Error(String(error)));
  let endedBy: NodeJS.Signals | undefined;
  const endBySignal = (signal: NodeJS.Signals): void => {
    endedBy = signal;
    app.dispatch({ kind: "keep" });
    finish();
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
  // Nothing runs after these, so this is the last chance to restore the terminal.
  const restore = (): void => {
    screen.leave();
    if (stdin.isTTY) stdin.setRawMode(false);
  };
  process.on("exit", restore);
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  for (const signal of signals) process.on(signal, endBySignal);
  stdout.on("resize", resize);
  screen.enter();
  const frames = followApp(app, (rows) => screen.paint(rows));
  const instance = render(createElement(AppInput, { onInput: frames.handle }), {
    stdout: noOutput(),
    stdin,
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  instance.waitUntilExit().then(() => isOver || finish(), crash);
  try {
    if (options.targets.length > 0) void app.open(...options.targets);
    await over;
  } finally {
    stdout.off("resize", resize);
    frames.stop();
    instance.unmount();
    restore();
    process.off("exit", restore);
    process.off("uncaughtException", crash);
    process.off("unhandledRejection", crash);
    for (const signal of signals) process.off(signal, endBySignal);
    stdin.unref();
  }
  // The listeners are removed, so the signal now has its default effect.
  if (endedBy !== undefined) process.kill(process.pid, endedBy);
}
