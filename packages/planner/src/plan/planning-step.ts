import type { PlanStep, PlanValue } from "@remat/trace";

/** A step of a plan that is being written. @internal */
export type PlanningStep = { -readonly [K in keyof PlanStep]: PlanStep[K] } & { free: PlanValue[] };

/** Adds what is freed after a step; what of it is reloaded later is offloaded instead. @internal */
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

/** @internal */
export function reloadAfter(step: PlanningStep, value: PlanValue | undefined): void {
  if (value !== undefined) step.reload = [...(step.reload ?? []), value];
}
