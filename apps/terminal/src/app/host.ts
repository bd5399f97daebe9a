import type { WhatIfRow } from "@remat/reporting";
import type { DeviceSpec } from "@remat/trace";
import type { Opened, SavedView, StartEntry } from "../state/opened.js";
import type { WhatIfSubject } from "../state/work.js";
import type { ThemeName } from "../text/theme.js";

/** Options of {@link OpenTarget}. */
export interface OpenOptions {
  /** Stops the work. */
  readonly signal: AbortSignal;
  /** Reports progress: the module being traced, or how much has been read. */
  readonly onProgress: (text: string) => void;
}

/** Reads a trace or plan, or traces a model. Rejects with a `RematError` if that fails. */
export type OpenTarget = (target: string, options: OpenOptions) => Promise<Opened>;

/** Answers a question about a model's step, or the usual questions, row by row. */
export type AnswerWhatIfs = (
  path: string,
  question: string | undefined,
  options: { readonly signal: AbortSignal; readonly onRow: (row: WhatIfRow) => void } & Pick<
    WhatIfSubject,
    "device" | "pricedFor"
  >,
) => Promise<void>;

/** All effects of the app on the outside world. */
export interface Host {
  readonly open: OpenTarget;
  /** Left out if no model is available. */
  readonly answerWhatIfs?: AnswerWhatIfs | undefined;
  /** Writes a file without overwriting existing ones, and returns its full path. */
  readonly writeFile: (name: string, text: string) => string;
  /** Copies a text to the terminal's clipboard. */
  readonly copy: (text: string) => void;
  readonly redraw: () => void;
  readonly suspend: () => void;
  readonly quit: () => void;
  readonly startEntries: () => readonly StartEntry[];
  readonly loadView: (path: string) => SavedView;
  readonly saveView: (path: string, title: string, view: SavedView) => void;
  readonly saveTheme: (theme: ThemeName) => void;
  /** The device to estimate times for if a trace has none of its own. */
  readonly device: DeviceSpec;
  /** True if the user requested it. */
  readonly isDeviceAsked?: boolean;
  /** Time limit for planning a step, in milliseconds. */
  readonly planTimeMs: number;
}
