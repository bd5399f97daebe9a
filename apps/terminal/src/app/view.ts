import type { ViewTable } from "@remat/reporting";
import type { ClickTarget, Drawn } from "../text/drawn.js";
import type { App } from "./app.js";
import type { ActionName, ViewName } from "./key-map.js";

/** Room on the screen, in cells. */
export interface Area {
  readonly width: number;
  readonly height: number;
}

/** What can be searched in a view. */
export interface Searchable {
  readonly count: number;
  text(index: number): string;
  /** Where the cursor is, to search on from; -1 for nowhere. */
  readonly current: number;
  show(index: number): void;
}

/** One of the six views: how it is drawn, and what keys do in it. All that it shows comes from the app's document. */
export interface View {
  readonly name: ViewName;
  readonly title: string;
  draw(app: App, area: Area): Drawn;
  /** What keys of this view do; those that the app itself does are not here. */
  readonly actions: Partial<Record<ActionName, (app: App) => void>>;
  /** A click on something that was drawn. */
  click?(app: App, target: ClickTarget): void;
  /** Moves the cursor over rows. */
  move?(app: App, by: number): void;
  /** Left out: the wheel moves the cursor. */
  wheel?(app: App, steps: 1 | -1): void;
  search?(app: App): Searchable | undefined;
  /** What an export holds. */
  table(app: App): ViewTable;
  /** What `y` copies. */
  copied?(app: App): string | undefined;
}
