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

/** What is being typed at the bottom of the screen. */
export type Prompt =
  | {
      readonly kind: "search";
      readonly text: string;
      /** Results from the cursor on, and which is chosen. */
      readonly matches: readonly number[];
      readonly chosen: number;
      /** How many there are in all. */
      readonly total: number;
    }
  /** A path to open. */
  | { readonly kind: "open"; readonly text: string }
  /** What a view asked for. */
  | { readonly kind: "ask"; readonly text: string; readonly label: string; readonly hint: string };

/** Something that the app tells at the bottom of the screen until the next key. */
export interface Notice {
  readonly text: string;
  readonly kind: "info" | "warning";
}

/** What is being opened. */
export interface Opening {
  /** Tells it from what was being opened before. */
  readonly id: number;
  /** Of the target that is being read, and how far that has come. */
  readonly title: string;
  readonly text: string;
  /** Whether a trace has been opened already, which the next one is compared with. */
  readonly hasTrace: boolean;
}

/** What is on the screen when no document is. */
export interface StartState extends ListPlace {
  readonly entries: readonly StartEntry[];
  readonly loading: Opening | undefined;
  readonly error: string | undefined;
}

/** Where one has been before drilling in. */
export interface Visit {
  readonly view: string;
  readonly module: string | undefined;
}

/** All that the screen depends on. It is never changed: `reduce` makes another. */
export interface AppState {
  readonly screen: "start" | "views" | "plan";
  readonly size: ScreenSize;
  readonly look: Look;
  /** What is predicted for where a trace has no runtimes of its own and no device is chosen. */
  readonly device: DeviceSpec;
  /** Whether that was asked for, so that a step is to fit it wherever it was recorded. */
  readonly isDeviceAsked: boolean;
  /** The view that was asked for, whatever a trace was left with. */
  readonly wantedView: string | undefined;
  readonly run: Run | undefined;
  /** The plan that was opened; on the screen by itself where no trace was opened with it. */
  readonly plan: Plan | undefined;
  /** The name of that, and what to type to have it followed. */
  readonly planFrom: { readonly title: string; readonly following: string | undefined } | undefined;
  /** Name of the view that is on. */
  readonly view: string;
  /** By view: its own state, which only the view itself looks into. */
  readonly own: Readonly<Record<string, unknown>>;
  /** Fully qualified name of the module that is chosen. */
  readonly module: string | undefined;
  /** Where `leave` goes back to, the last visit last. */
  readonly trail: readonly Visit[];
  readonly help: { readonly top: number } | undefined;
  readonly exporting: boolean;
  readonly prompt: Prompt | undefined;
  /** What was searched last, for n and N. */
  readonly searched: string;
  readonly notice: Notice | undefined;
  readonly start: StartState;
  readonly planSteps: ListPlace;
  /** How many times something was opened. */
  readonly openings: number;
}

/** What the app begins with. */
export interface AppSetting {
  readonly look: Look;
  readonly size: ScreenSize;
  readonly device: DeviceSpec;
  readonly isDeviceAsked?: boolean;
  readonly view: string;
  readonly wantedView?: string | undefined;
  readonly entries?: readonly StartEntry[];
}

/** Returns how the app begins. */
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
