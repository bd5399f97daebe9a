import type { Overlay } from "../data/report-meta.js";

/** Another run or plan that is drawn over the timeline of the run. */
export interface DrawnOverlay {
  readonly overlay: Overlay;
  /** The highest memory at each op that is shown. */
  readonly highestBytes: Float64Array;
}
