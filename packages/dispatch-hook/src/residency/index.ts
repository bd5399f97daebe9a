export type { ConstantData } from "./constants.js";
export type { KernelRecipe } from "./replay.js";
export {
  constantOf,
  copyIfShared,
  evictData,
  pinData,
  recomputeOps,
  replayKernel,
  restoreConstant,
  unpinData,
} from "./resident-data.js";
