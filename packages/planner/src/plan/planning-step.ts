import type { PlanStep, PlanValue } from "@remat/trace";

/** A step of a plan that is being written. @internal */
export type PlanningStep = { -readonly [K in keyof PlanStep]: PlanStep[K] } & { free: PlanValue[] };

/** Adds values that are freed after a step. Values that are reloaded later are offloaded instead. @internal */
export function freeAfter(
  step: PlanningStep,
  freed: readonly number[],
  offloaded: readonly number[] = [],
  nameOf: (value: number) => PlanValue | undefined,
): void {
  for (const value of freed) {
    const name = nameOf(value);
    if (name === undefined) continue;
    if (offloaded.includes(value)) step.offload = [...(step.offload ?? []), name];
    else step.free.push(name);
  }
}

/** Adds a value that is reloaded after a step. @internal */
export function reloadAfter(step: PlanningStep, value: PlanValue | undefined): void {
  if (value !== undefined) step.reload = [...(step.reload ?? []), value];
}
