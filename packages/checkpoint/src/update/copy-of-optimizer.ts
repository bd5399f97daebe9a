import type { Optimizer } from "@tensorflow/tfjs-core";

/** Returns a copy that can take a step which the optimizer does not feel: its state is in fields, and in lists of variables. @internal */
export function copyOfOptimizer(optimizer: Optimizer): Optimizer {
  const copy = Object.create(Object.getPrototypeOf(optimizer) as object) as Record<string, unknown>;
  for (const [key, value] of Object.entries(optimizer)) copy[key] = Array.isArray(value) ? value.slice() : value;
  return copy as unknown as Optimizer;
}
