import type { BackendName } from "@remat/dispatch-hook/backends/node";
import { type PlanSubject, readPlan } from "@remat/trace";
import type { StepRequest } from "@remat/tracer/step";
import { optionOfField } from "../model-options.js";
import { UsageError } from "../usage-error.js";

/** The step that a plan was made for. */
export interface PlannedStep {
  readonly request: StepRequest;
  readonly backend: BackendName | undefined;
  /** A note on the settings that the plan gave, or undefined if it does not describe its step. */
  readonly note: string | undefined;
}

/** Fields that must match the plan. Seed and data may differ, and its backend is used if it works here. */
const fields = ["size", "batch", "loss", "optimizer", "grouping", "allocationUnitBytes"] as const;

/**
 * Returns the step that a plan describes.
 *
 * @param given the step described on the command line
 * @throws UsageError if that is a different step, naming both; RematError `PLAN_FORMAT`, `PLAN_CORRUPT`
 */
export function stepOfPlan(text: string, path: string, given: StepRequest): PlannedStep {
  const { subject } = readPlan(text);
  const backend = subject.backend as BackendName | undefined;
  const planned = requestOf(subject);
  if (planned === undefined) return { request: given, backend: given.backend ?? backend, note: undefined };
  for (const field of [...fields, "backend"] as const)
    if (given[field] !== undefined && given[field] !== { ...planned, backend }[field])
      throw contradiction(path, field, given[field], { ...planned, backend }[field]);
  const { seed = planned.seed, data = planned.data } = given;
  return {
    request: { ...planned, seed, data },
    backend,
    note: `the step is taken from ${path}: ${saying(planned)}`,
  };
}

function requestOf({ step, allocationUnitBytes }: PlanSubject): StepRequest | undefined {
  return step === undefined ? undefined : ({ ...step, allocationUnitBytes } as StepRequest);
}

function saying({ size, batch, loss, data, optimizer }: StepRequest): string {
  return [
    ...(size === "full" ? [] : [`size ${size}`]),
    ...(batch === undefined ? [] : [`batch ${batch}`]),
    ...(loss === undefined ? [] : [`loss ${loss}`]),
    ...(data === undefined ? [] : [`data ${data}`]),
    `optimizer ${optimizer}`,
  ].join(", ");
}

function contradiction(path: string, field: keyof typeof optionOfField, given: unknown, planned: unknown): UsageError {
  const option = optionOfField[field];
  const plans = planned === undefined ? `the model's own ${option}` : `${option} ${String(planned)}`;
  return new UsageError(
    `--${option} ${String(given)} contradicts --plan ${path}, which is for ${plans}. Remove --${option}, or plan again with it.`,
  );
}
