export { degenerateSample, degenerateTraces, type NamedTrace } from "./degenerate-traces.js";
export { describeTrace } from "./describe-trace.js";
export { findBrowser } from "./find-browser.js";
export { type Difference, firstDifference } from "./first-difference.js";
export { type Golden, type GoldenFile, goldenFiles, goldensFolder, goldensOf, readGolden } from "./goldens.js";
export { hostilePieces, hostileText } from "./hostile-text.js";
export { installByApt } from "./install-by-apt.js";
export { processLives } from "./process-lives.js";
export { hasRedis, RedisServer } from "./start-redis.js";
