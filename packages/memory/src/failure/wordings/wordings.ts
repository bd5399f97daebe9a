import { hostSymptoms, hostWordings } from "./host-wordings.js";
import { librarySymptoms, libraryWordings } from "./library-wordings.js";
import { pytorchSymptoms, pytorchWordings } from "./pytorch-wordings.js";
import type { Wording } from "./wording.js";
import { xlaWordings } from "./xla-wordings.js";

/** Wordings that describe a failure by themselves. If two match at one place, the first one counts. */
export const reportWordings: readonly Wording[] = [
  ...pytorchWordings,
  ...xlaWordings,
  ...libraryWordings,
  ...hostWordings,
];

/** Wordings that say little and often follow from another failure. They count only if the log has no other report. */
export const symptomWordings: readonly Wording[] = [...pytorchSymptoms, ...librarySymptoms, ...hostSymptoms];
