import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { installByApt } from "@remat/testkit";

/** A terminal that a test looks at: a window of tmux in a server of its own. */
export interface Terminal {
  /** Presses keys, by tmux's names: `Down`, `Enter`, `C-c`, `q`. */
  press(...keys: string[]): void;
  type(text: string): void;
  /** A report of the mouse, as a terminal sends it: SGR mode, columns and rows from 1. */
  click(column: number, row: number): void;
  /** Content of the screen, line by line. */
  screen(): readonly string[];
  /** The screen with colours, as `capture-pane -e` gives it. */
  colouredScreen(): string;
  resize(columns: number, rows: number): void;
  /** Waits until `isThere` holds of the screen; fails with what is on the screen. */
  until(what: string, isThere: (screen: readonly string[]) => boolean): Promise<readonly string[]>;
  /** A fact about the terminal's state, by tmux's format: `#{alternate_on}`. */
  ask(format: string): string;
  close(): void;
}

/** Returns whether tmux is available: on the PATH, or Debian's. */
export function hasTmux(): boolean {
  const works = (): boolean => spawnSync("tmux", ["-V"]).status === 0;
  return works() || (installByApt("tmux") && works());
}

/** Opens a terminal of that size with a plain shell in `folder`. */
export function openTerminal(
  columns: number,
  rows: number,
  { folder, env }: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Terminal {
  const server = `remat-${randomUUID()}`;
  const tmux = (...args: string[]): string =>
    execFileSync("tmux", ["-L", server, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      // tmux decides by the locale whether it may show Unicode.
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder,
        LC_ALL: "C.UTF-8",
        TERM: "xterm-256color",
        PS1: "$ ",
        ...env,
      },
    });
  tmux("new-session", "-d", "-s", "t", "-x", String(columns), "-y", String(rows), "-c", folder, "sh");
  tmux("set-option", "-g", "default-terminal", "tmux-256color");
  const screen = (): readonly string[] => tmux("capture-pane", "-p", "-t", "t").replace(/\n$/, "").split("\n");
  return {
    press: (...keys) => void tmux("send-keys", "-t", "t", ...keys),
    type: (text) => void tmux("send-keys", "-t", "t", "-l", text),
    click(column, row) {
      for (const end of ["M", "m"]) tmux("send-keys", "-t", "t", "-l", `\u001b[<0;${column};${row}${end}`);
    },
    screen,
    colouredScreen: () => tmux("capture-pane", "-p", "-e", "-t", "t"),
    resize: (width, height) => void tmux("resize-window", "-t", "t", "-x", String(width), "-y", String(height)),
    ask: (format) => tmux("display-message", "-p", "-t", "t", format).trim(),
    async until(what, isThere) {
      let seen = screen();
      // A loaded machine is slow; a program that hangs is one for which nothing is ever there.
      for (let tries = 0; tries < 600; tries++) {
        if (isThere(seen)) return seen;
        await new Promise((resolve) => setTimeout(resolve, 100));
        seen = screen();
      }
      throw new Error(`expected ${what}; found on the screen:\n${seen.join("\n")}`);
    },
    close() {
      spawnSync("tmux", ["-L", server, "kill-server"]);
    },
  };
}
