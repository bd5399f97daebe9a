export type { Knapsack, KnapsackMethod, KnapsackSolution } from "./knapsack.js";
export { solveKnapsack } from "./solve-knapsack.js";
