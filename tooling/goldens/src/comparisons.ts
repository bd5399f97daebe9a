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
 * Every comparison of a golden file, by the file's schema. A package keeps its own next to its tests, which run them as
 * well. A line here makes `pnpm goldens` run it.
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

/** Cases in which PyTorch's answers are worse than remat's although nothing differs, by the file's schema. */
export const advantages: Advantages = {
  "sac-oracle/1": [fitAdvantage],
  "pwlf-oracle/1": [fitAdvantage],
  "knapsack-oracle/1": [knapsackAdvantage],
  "mem-oracle/1": [activityAdvantage],
};
