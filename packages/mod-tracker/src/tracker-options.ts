import type { Grouping } from "./group-layers.js";
import type { ModuleRecorder } from "./module-recorder.js";

export interface ModTrackerOptions {
  /** Where module calls are written: as events, and as the stack of each op. */
  readonly recorder?: ModuleRecorder;
}

export interface TrackOptions {
  /** The root of the FQNs; left out: the model's name. */
  readonly name?: string;
  /** How flat models get a hierarchy; left out: `auto`. */
  readonly grouping?: Grouping;
}
