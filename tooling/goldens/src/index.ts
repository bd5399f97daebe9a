export { goldensFolder } from "@remat/testkit";
export {
  type Advantages,
  type CheckedGolden,
  type Comparison,
  type Comparisons,
  checkGoldens,
} from "./check-goldens.js";
export { advantages, comparisons } from "./comparisons.js";
