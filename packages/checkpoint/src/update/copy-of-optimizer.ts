import type { Optimizer } from "@tensorflow/tfjs-core";

/**
 * Returns a copy that can take a step without changing the original. An optimizer's state is in its fields and in lists
 * of variables. @internal
 */
export function copyOfOptimizer(optimizer: Optimizer): Optimizer {
  const copy = Object.create(Object.getPrototypeOf(optimizer) as object) as Record<string, unknown>;
  for (const [key, value] of Object.entries(optimizer)) copy[key] = Array.isArray(value) ? value.slice() : value;
  return copy as unknown as Optimizer;
}
