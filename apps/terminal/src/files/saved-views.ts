import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseJsonText } from "@remat/trace";
import { readInputText, replaceFile } from "@remat/trace/files";
import type { SavedView, StartEntry } from "../state/opened.js";
import type { ThemeName } from "../text/theme.js";

interface Recent {
  readonly path: string;
  readonly title: string;
  readonly openedAt: string;
}

const mostRecent = 10;

/**
 * State kept between runs in `$XDG_STATE_HOME/remat` (`~/.local/state/remat`): a file for each trace, by its path, a
 * list of recently opened files, and the colour theme. Anything that cannot be read or written is ignored.
 */
export class SavedViews {
  private readonly folder: string;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    const state = env["XDG_STATE_HOME"];
    // The specification says that a relative path must be ignored.
    this.folder = join(state?.startsWith("/") ? state : join(env["HOME"] ?? homedir(), ".local", "state"), "remat");
  }

  load(path: string): SavedView {
    const saved = this.read(this.fileOf(path));
    return typeof saved === "object" && saved !== null ? (saved as SavedView) : {};
  }

  save(path: string, title: string, view: SavedView): void {
    this.write(this.fileOf(path), view);
    const others = this.recents().filter((entry) => entry.path !== resolve(path));
    const entry: Recent = { path: resolve(path), title, openedAt: new Date().toISOString() };
    this.write("recent.json", [entry, ...others].slice(0, mostRecent));
  }

  /** The background that colours were chosen for, or undefined if the user has not chosen. */
  theme(): ThemeName | undefined {
    const saved = this.read("theme.json");
    return saved === "dark" || saved === "light" ? saved : undefined;
  }

  saveTheme(theme: ThemeName): void {
    this.write("theme.json", theme);
  }

  /** Recently opened files that still exist, for the start screen. */
  recent(): readonly StartEntry[] {
    return this.recents()
      .filter(({ path }) => existsSync(path))
      .map(({ path, title, openedAt }) => ({ title, target: path, note: `${openedAt.slice(0, 10)}  ${path}` }));
  }

  private recents(): readonly Recent[] {
    const list = this.read("recent.json");
    if (!Array.isArray(list)) return [];
    return (list as Partial<Recent>[]).flatMap(({ path, title, openedAt }) =>
      typeof path === "string" && typeof title === "string" && typeof openedAt === "string"
        ? [{ path, title, openedAt }]
        : [],
    );
  }

  private fileOf(path: string): string {
    return join("views", `${createHash("sha256").update(resolve(path)).digest("hex").slice(0, 24)}.json`);
  }

  private read(name: string): unknown {
    try {
      return parseJsonText(readInputText(join(this.folder, name)));
    } catch {
      return undefined;
    }
  }

  private write(name: string, value: unknown): void {
    try {
      mkdirSync(join(this.folder, "views"), { recursive: true });
      replaceFile(join(this.folder, name), `${JSON.stringify(value)}\n`);
    } catch {
      // A read-only home folder is not an error.
    }
  }
}
