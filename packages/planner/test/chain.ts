import { type PlanningGraph, planningGraph } from "../src/graph/planning-graph.js";

/** A chain and its backward pass: each backward node reads the gradient and what the forward node of the same place made. */
export function chain(length: number): PlanningGraph {
  const forward = Array.from({ length }, (_, v) => ({
    name: `f${v}`,
    cost: 1 + (v % 3),
    outputBytes: [10 + (v % 4)],
    inputs: v === 0 ? [] : [[v - 1, 0] as const],
  }));
  const backward = Array.from({ length }, (_, i) => ({
    name: `b${length - 1 - i}`,
    cost: 2,
    outputBytes: [10],
    inputs: [[length - 1 + i, 0] as const, ...(i === 0 ? [] : [[length - 1 - i, 0] as const])],
  }));
  return planningGraph([...forward, ...backward]);
}
