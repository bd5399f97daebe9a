export { goldensFolder } from "@remat/testkit";
export { type CheckedGolden, checkGoldens, type Comparison, type Comparisons } from "./check-goldens.js";
export { comparisons } from "./comparisons.js";
