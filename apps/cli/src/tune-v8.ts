import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** Keeps the young generation at its first size. V8 doubles it whenever many objects survive, and never returns it. */
const smallYoungGeneration = "--semi-space-growth-factor=1";
/** V8's own factor. */
export const growingYoungGeneration = "--semi-space-growth-factor=2";
/** Size of the heap from which the young generation may grow. Steps of a few thousand ops stay below it. */
const largeHeapBytes = 96 * 2 ** 20;
/** Eight times V8's own thresholds. */
const lateOptimization: Readonly<Record<string, readonly string[]>> = {
  20: ["--interrupt-budget=540672"],
  22: ["--invocation-count-for-maglev=3200", "--invocation-count-for-turbofan=24000"],
  24: ["--invocation-count-for-maglev=3200", "--invocation-count-for-turbofan=24000"],
};

/**
 * Returns the V8 flags for a process that runs for a second or so, or none for a version of Node that is not known: V8
 * prints an error for a flag that it does not have.
 *
 * @param node a version of Node, such as `20.19.0`
 */
export function flagsOfShortRuns(node: string): readonly string[] {
  const late = lateOptimization[node.split(".")[0]];
  return late === undefined ? [] : [...late, smallYoungGeneration];
}

/**
 * Makes V8 optimize a function only after it has run longer than usual, and use less memory for new objects. In a short
 * run, optimized code is ready too late to save the time that its compilation takes. Both are thresholds that V8 reads
 * whenever it compares with them, so they can change while it runs.
 */
export function tuneV8(): void {
  for (const flag of flagsOfShortRuns(process.versions.node)) setFlagsFromString(flag);
}

/**
 * Lets the young generation grow again if the heap is large. So many new objects survive then that a small young
 * generation costs more time than it saves memory. Call it repeatedly during long work.
 */
export function growYoungGenerationIfLarge(): void {
  if (getHeapStatistics().used_heap_size < largeHeapBytes) return;
  if (flagsOfShortRuns(process.versions.node).length > 0) setFlagsFromString(growingYoungGeneration);
}
