import type { CheckpointingPoint } from "@remat/planner";
import type { ModuleTreeColumn, OpTableColumn } from "@remat/reporting";
import type { Plan } from "@remat/trace";
import type { ThemeName } from "../text/theme.js";
import type { ViewName } from "./key-map.js";

/** Cursor and window of a list. */
export interface ListPlace {
  cursor: number;
  top: number;
}

export interface ModulesState {
  /** Index of the module that the cursor is on. */
  node: number;
  top: number;
  expanded: ReadonlySet<number>;
  sort: { readonly column: ModuleTreeColumn; readonly descending: boolean } | undefined;
}

export interface OpsState extends ListPlace {
  /** Whether ops of the whole step are shown. */
  isWholeStep: boolean;
  filter: string;
  sort: { readonly column: OpTableColumn; readonly descending: boolean } | undefined;
  /** Whether the op at the cursor is shown with all that is known of it. */
  isDetailed: boolean;
}

export interface TradeOffState extends ListPlace {
  /** What may be stored, as a share of what storing everything takes. */
  budgetShare: number;
  isOptimal: boolean;
}

export interface MemoryState {
  /** First op shown, and the one after the last. */
  from: number;
  to: number;
  /** Op of the cursor; -1 before the view was first shown. */
  op: number;
  by: "category" | "module";
}

export interface CompareState extends ListPlace {
  quantity: "memoryBytes" | "savedBytes" | "forwardMs" | "backwardMs";
  sort:
    | { readonly column: "fqn" | "before" | "after" | "difference" | "ratio"; readonly descending: boolean }
    | undefined;
}

export interface DevicesState {
  row: number;
  /** What the whole step may hold, as a share of the recorded peak. */
  budgetShare: number;
  planning: { readonly text: string } | undefined;
  point: CheckpointingPoint | undefined;
  /** What came of planning, where it is no plan. */
  outcome: string | undefined;
}

/** What was typed at the bottom of the screen. */
export interface Prompt {
  readonly kind: "search" | "filter" | "open";
  text: string;
  /** For a search: results, best first, and which is chosen. */
  matches: readonly number[];
  chosen: number;
  /** How many there are in all. */
  total: number;
}

/** Something that the app tells at the bottom of the screen until the next key. */
export interface Notice {
  readonly text: string;
  readonly kind: "info" | "warning";
}

/** What is on the screen when no document is. */
export interface StartState extends ListPlace {
  loading: { readonly title: string; readonly text: string } | undefined;
  error: string | undefined;
}

/** All that the screen depends on, apart from the document. */
export interface AppState {
  screen: "start" | "views" | "plan";
  view: ViewName;
  size: { readonly columns: number; readonly rows: number };
  theme: ThemeName;
  help: { top: number } | undefined;
  exporting: boolean;
  prompt: Prompt | undefined;
  /** What was searched last, for n and N. */
  searched: string;
  notice: Notice | undefined;
  start: StartState;
  modules: ModulesState;
  ops: OpsState;
  tradeOff: TradeOffState;
  memory: MemoryState;
  compare: CompareState;
  devices: DevicesState;
  /** A plan that was opened; on the screen by itself where no trace was opened with it. */
  plan: Plan | undefined;
  planSteps: ListPlace;
}

/** How the app begins. */
export function initialState(view: ViewName, theme: ThemeName, size: AppState["size"]): AppState {
  return {
    screen: "start",
    view,
    size,
    theme,
    help: undefined,
    exporting: false,
    prompt: undefined,
    searched: "",
    notice: undefined,
    start: { cursor: 0, top: 0, loading: undefined, error: undefined },
    modules: { node: 0, top: 0, expanded: new Set(), sort: undefined },
    ops: { cursor: 0, top: 0, isWholeStep: false, filter: "", sort: undefined, isDetailed: false },
    tradeOff: { cursor: 0, top: 0, budgetShare: 0.5, isOptimal: false },
    memory: { from: 0, to: 0, op: -1, by: "category" },
    compare: { cursor: 0, top: 0, quantity: "memoryBytes", sort: undefined },
    devices: { row: 0, budgetShare: 0.3, planning: undefined, point: undefined, outcome: undefined },
    plan: undefined,
    planSteps: { cursor: 0, top: 0 },
  };
}
