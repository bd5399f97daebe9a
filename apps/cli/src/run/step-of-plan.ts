import type { BackendName } from "@remat/dispatch-hook/backends/node";
import { type PlanSubject, readPlan } from "@remat/trace";
import type { StepRequest } from "@remat/tracer/step";
import { optionOfField } from "../model-options.js";
import { UsageError } from "../usage-error.js";

/** The step that a plan is for. */
export interface PlannedStep {
  readonly request: StepRequest;
  readonly backend: BackendName | undefined;
  /** What was taken from the plan, for people; undefined where it says nothing. */
  readonly note: string | undefined;
}

/** What a plan cannot do without; its seed and its data may be others, and its backend is taken if it works here. */
const fields = ["size", "batch", "loss", "optimizer", "grouping", "allocationUnitBytes"] as const;

/**
 * Takes from a plan which step it is for.
 *
 * @param given what the command line says of the step
 * @throws UsageError where that is another step, naming both; RematError `PLAN_FORMAT`, `PLAN_CORRUPT`
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
    note: `the step is the one that ${path} is for: ${saying(planned)}`,
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
