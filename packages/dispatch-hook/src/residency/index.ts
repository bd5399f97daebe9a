export type { ConstantData } from "./constants.js";
export type { KernelRecipe } from "./replay.js";
export {
  constantOf,
  copyIfShared,
  copyToDevice,
  copyToHost,
  evictData,
  type HostCopy,
  pinData,
  recomputeOps,
  replayKernel,
  restoreConstant,
  tellModes,
  unpinData,
} from "./resident-data.js";
