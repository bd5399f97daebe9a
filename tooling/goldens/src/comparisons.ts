import { activityAdvantage, compareMemoryGolden } from "../../../packages/sharding/test/compare-golden.js";
import { compareFsdpSimulation } from "../../../packages/sharding/test/compare-simulation.js";
import { compareFxGolden } from "../../../packages/memory/test/graph/compare-fx-golden.js";
import { compareIlpGolden } from "../../../packages/planner/test/compare-ilp-golden.js";
import { compareKnapsackGolden, knapsackAdvantage } from "../../../packages/planner/test/compare-knapsack-golden.js";
import { comparePolicyGolden } from "../../../packages/planner/test/compare-policy-golden.js";
import { compareOpCosts, compareRtGolden } from "../../../packages/runtime-estimator/test/compare-rt-golden.js";
import { comparePwlfGolden, fitAdvantage } from "../../../packages/sac-core/test/compare-pwlf-golden.js";
import { compareSacGolden } from "../../../packages/sac-core/test/compare-sac-golden.js";
import type { Advantages, Comparisons } from "./check-goldens.js";

/**
 * Every comparison of a golden file, by the file's schema. A package keeps its own beside its tests, so that they run with them; one line here
 * has `pnpm goldens` run it, too.
 */
export const comparisons: Comparisons = {
  "sac-oracle/1": [compareSacGolden, compareOpCosts],
  "pwlf-oracle/1": [comparePwlfGolden],
  "rt-oracle/1": [compareRtGolden],
  "mem-oracle/1": [compareMemoryGolden],
  "fsdp-oracle/1": [compareMemoryGolden, compareFsdpSimulation],
  "fx-memory-oracle/1": [compareFxGolden],
  "policy-oracle/1": [comparePolicyGolden],
  "knapsack-oracle/1": [compareKnapsackGolden],
  "ilp-oracle/1": [compareIlpGolden],
};

/** Where PyTorch's answers are worse than ours though nothing differs: what is better, and by how much, by the file's schema. */
export const advantages: Advantages = {
  "sac-oracle/1": [fitAdvantage],
  "pwlf-oracle/1": [fitAdvantage],
  "knapsack-oracle/1": [knapsackAdvantage],
  "mem-oracle/1": [activityAdvantage],
};
