import type { DeviceSpec, Plan } from "@remat/trace";
import type { Run } from "../document/run.js";
import type { ListPlace } from "../table/list-place.js";
import type { Look } from "../text/look.js";
import type { StartEntry } from "./opened.js";

/** In columns and rows. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Text being typed at the bottom of the screen. */
export type Prompt =
  | {
      readonly kind: "search";
      readonly text: string;
      /** Results from the cursor on, and the selected one. */
      readonly matches: readonly number[];
      readonly chosen: number;
      /** Total number. */
      readonly total: number;
    }
  /** A path to open. */
  | { readonly kind: "open"; readonly text: string }
  /** A text that a view asked for. */
  | { readonly kind: "ask"; readonly text: string; readonly label: string; readonly hint: string };

/** A message at the bottom of the screen until the next key. */
export interface Notice {
  readonly text: string;
  readonly kind: "info" | "warning";
}

/** Targets being opened. */
export interface Opening {
  /** Distinguishes it from earlier ones. */
  readonly id: number;
  /** Name and progress of the target that is being read. */
  readonly title: string;
  readonly text: string;
  /** True if a trace has already been opened, which the next one is compared with. */
  readonly hasTrace: boolean;
}

/** Content of the screen if no document is open. */
export interface StartState extends ListPlace {
  readonly entries: readonly StartEntry[];
  readonly loading: Opening | undefined;
  readonly error: string | undefined;
}

/** A place to return to after drilling in. */
export interface Visit {
  readonly view: string;
  readonly module: string | undefined;
}

/** Everything that the screen depends on. It is immutable: `reduce` creates a new one. */
export interface AppState {
  readonly screen: "start" | "views" | "plan";
  readonly size: ScreenSize;
  readonly look: Look;
  /** The device to predict times for if a trace has none of its own and no device is chosen. */
  readonly device: DeviceSpec;
  /** True if the user requested that device, so that a step has to fit on it wherever it was recorded. */
  readonly isDeviceAsked: boolean;
  /** The requested view, which takes precedence over a saved one. */
  readonly wantedView: string | undefined;
  readonly run: Run | undefined;
  /** The opened plan. Shown alone if no trace was opened with it. */
  readonly plan: Plan | undefined;
  /** The plan's name, and the command that applies it. */
  readonly planFrom: { readonly title: string; readonly following: string | undefined } | undefined;
  /** Name of the current view. */
  readonly view: string;
  /** For each view: its own state, which only that view reads. */
  readonly own: Readonly<Record<string, unknown>>;
  /** Fully qualified name of the selected module. */
  readonly module: string | undefined;
  /** The places that `leave` returns to, the latest last. */
  readonly trail: readonly Visit[];
  readonly help: { readonly top: number } | undefined;
  readonly exporting: boolean;
  readonly prompt: Prompt | undefined;
  /** The last search, for n and N. */
  readonly searched: string;
  readonly notice: Notice | undefined;
  readonly start: StartState;
  readonly planSteps: ListPlace;
  /** How many times targets were opened. */
  readonly openings: number;
}

/** Initial configuration of the app. */
export interface AppSetting {
  readonly look: Look;
  readonly size: ScreenSize;
  readonly device: DeviceSpec;
  readonly isDeviceAsked?: boolean;
  readonly view: string;
  readonly wantedView?: string | undefined;
  readonly entries?: readonly StartEntry[];
}

/** Returns the initial state of the app. */
export function initialState({
  look,
  size,
  device,
  isDeviceAsked = false,
  view,
  wantedView,
  entries = [],
}: AppSetting): AppState {
  return {
    screen: "start",
    size,
    look,
    device,
    isDeviceAsked,
    wantedView,
    run: undefined,
    plan: undefined,
    planFrom: undefined,
    view,
    own: {},
    module: undefined,
    trail: [],
    help: undefined,
    exporting: false,
    prompt: undefined,
    searched: "",
    notice: undefined,
    start: { cursor: 0, top: 0, entries, loading: undefined, error: undefined },
    planSteps: { cursor: 0, top: 0 },
    openings: 0,
  };
}
