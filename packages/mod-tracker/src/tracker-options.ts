import type { Grouping } from "./group-layers.js";
import type { ModuleRecorder } from "./module-recorder.js";

/** Options of `ModTracker`. */
export interface ModTrackerOptions {
  /** Records module calls, as events and as the stack of each op. */
  readonly recorder?: ModuleRecorder;
}

/** Options of `ModTracker.track`. */
export interface TrackOptions {
  /** Root of the FQNs. Default: the model's name. */
  readonly name?: string;
  /** How flat models are grouped into modules. Default: `auto`. */
  readonly grouping?: Grouping;
}
