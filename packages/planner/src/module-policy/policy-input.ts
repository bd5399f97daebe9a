import type { SACStats } from "@remat/sac-core";
import { RematError } from "@remat/trace";

/** The method for finding a module's policy. See {@link planModule}. */
export type ModulePolicyMethod = "greedy" | "dp" | "milp";

/** The budget for a module's stored results: bytes, or a fraction (0 to 1) of the memory for storing everything. */
export type ModuleBudget =
  | { readonly budgetBytes: number; readonly budgetFraction?: never }
  | { readonly budgetFraction: number; readonly budgetBytes?: never };

/** Checks the statistics of a module. @internal */
export function checkStats({ memoryBytes, runtimesMs, funcNames, ...indices }: SACStats): void {
  const ops = memoryBytes.length;
  if (runtimesMs.length !== ops || funcNames.length !== ops)
    throw inputError(
      `there are ${ops} sizes, ${runtimesMs.length} runtimes and ${funcNames.length} names. Pass one of each per op`,
    );
  for (let op = 0; op < ops; op++) {
    if (!(memoryBytes[op] >= 0 && memoryBytes[op] < Number.POSITIVE_INFINITY))
      throw inputError(`op ${op} (${funcNames[op]}): memoryBytes is ${memoryBytes[op]}, expected at least 0`);
    if (!(runtimesMs[op] >= 0 && runtimesMs[op] < Number.POSITIVE_INFINITY))
      throw inputError(
        `op ${op} (${funcNames[op]}): runtimesMs is ${runtimesMs[op]}, expected at least 0. Estimate the trace's runtimes first`,
      );
  }
  if (indices.inplaceOps.length !== indices.inplaceParents.length)
    throw inputError(
      `there are ${indices.inplaceOps.length} inplaceOps and ${indices.inplaceParents.length} inplaceParents. Pass one parent for each`,
    );
  for (const field of ["viewLikeOps", "randOps", "inplaceOps", "inplaceParents"] as const)
    for (const op of indices[field])
      if (!(Number.isInteger(op) && op >= 0 && op < ops))
        throw inputError(`${field} names op ${op}: expected one of the ${ops} ops`);
}

/**
 * Returns the budget in bytes. A fraction is rounded up to a whole byte, as in PyTorch, so that a budget of 100/420 of
 * 420 bytes allows 100. @internal
 */
export function budgetInBytes(budget: ModuleBudget, totalBytes: number): number {
  const { budgetBytes, budgetFraction } = budget;
  if ((budgetBytes === undefined) === (budgetFraction === undefined))
    throw inputError("pass exactly one of budgetBytes and budgetFraction");
  if (budgetFraction !== undefined) {
    if (!(typeof budgetFraction === "number" && budgetFraction >= 0 && budgetFraction <= 1))
      throw inputError(`budgetFraction is ${shown(budgetFraction)}: expected a number from 0 to 1`);
    return Math.ceil(budgetFraction * totalBytes);
  }
  if (!(typeof budgetBytes === "number" && budgetBytes >= 0))
    throw inputError(`budgetBytes is ${shown(budgetBytes)}: expected a number of at least 0`);
  return budgetBytes;
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function inputError(found: string): RematError {
  return new RematError("POLICY_INPUT", `module policy: ${found}.`);
}
