export { describeTrace } from "./describe-trace.js";
export { type Golden, type GoldenFile, goldenFiles, goldensFolder, goldensOf, readGolden } from "./goldens.js";
