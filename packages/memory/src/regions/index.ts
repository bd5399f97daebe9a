export {
  type CheckpointedRegion,
  checkpointedRegions,
  type KeptByRegion,
  type KeptCause,
  type RegionFlaw,
  type RegionForm,
} from "./checkpointed-regions.js";
export type { Saver } from "./savers.js";
