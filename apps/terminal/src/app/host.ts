import type { WhatIfRow } from "@remat/reporting";
import type { DeviceSpec } from "@remat/trace";
import type { Opened, SavedView, StartEntry } from "../state/opened.js";
import type { WhatIfSubject } from "../state/work.js";
import type { ThemeName } from "../text/theme.js";

export interface OpenOptions {
  /** Stops the work. */
  readonly signal: AbortSignal;
  /** What is being done: the module being traced, how much has been read. */
  readonly onProgress: (text: string) => void;
}

/** Reads a trace or plan, or traces a model. Rejects with a `RematError` for what cannot be opened. */
export type OpenTarget = (target: string, options: OpenOptions) => Promise<Opened>;

/** Answers a question of the step of a model, or what is usual, row by row. */
export type AnswerWhatIfs = (
  path: string,
  question: string | undefined,
  options: { readonly signal: AbortSignal; readonly onRow: (row: WhatIfRow) => void } & Pick<
    WhatIfSubject,
    "device" | "pricedFor"
  >,
) => Promise<void>;

/** Everything that the app does to the world outside. */
export interface Host {
  readonly open: OpenTarget;
  /** Left out: no model is at hand. */
  readonly answerWhatIfs?: AnswerWhatIfs | undefined;
  /** Writes a file beside those that are there, never over one, and tells its full path. */
  readonly writeFile: (name: string, text: string) => string;
  /** Puts a text on the clipboard of the terminal. */
  readonly copy: (text: string) => void;
  readonly redraw: () => void;
  readonly suspend: () => void;
  readonly quit: () => void;
  readonly startEntries: () => readonly StartEntry[];
  readonly loadView: (path: string) => SavedView;
  readonly saveView: (path: string, title: string, view: SavedView) => void;
  readonly saveTheme: (theme: ThemeName) => void;
  /** Device to price for where a trace has no runtimes of its own. */
  readonly device: DeviceSpec;
  /** Whether it was asked for. */
  readonly isDeviceAsked?: boolean;
  /** Milliseconds that planning a step may take. */
  readonly planTimeMs: number;
}
